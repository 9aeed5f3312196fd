"""The table `[exchange]`: where the runs of agents go."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from prloom.config.problems import InvalidValue, quoted
from prloom.config.section import Section
from prloom.config.values import Flag

_SERVERS = ("postgresql://", "postgres://")


def _exchange_url(value: object) -> object:
    if isinstance(value, str) and value and not value.startswith(_SERVERS):
        raise InvalidValue(
            f"is {quoted(value.partition('@')[2] or value)}, which is not the address of a PostgreSQL server",
            'write one such as "postgresql://host/database", or leave it out',
        )
    return value


class ExchangeSection(Section):
    """Where the runs of agents go: by default to workers of this machine alone."""

    url: Annotated[str, BeforeValidator(_exchange_url)] = Field(
        default="",
        description="A database on a PostgreSQL server, of which workers on other machines take runs; if it is "
        "empty, runs stay on this machine.",
    )
    local: Flag = Field(
        default=True,
        description="Whether the dispatcher's own machine takes runs from that database, too; checks always run there.",
    )
