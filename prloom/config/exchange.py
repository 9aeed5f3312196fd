"""The table `[exchange]`: where the runs of agents go."""

from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

from prloom.config.problems import InvalidValue, quoted
from prloom.config.section import ConfigSection
from prloom.config.values import Duration, Flag
from prloom.exchange import store_url


def _exchange_url(value: object) -> object:
    if isinstance(value, str) and value and store_url.server_of(value) is None:
        raise InvalidValue(
            f"is {quoted(value.partition('@')[2] or value)}, which is not the address of a "
            f"{store_url.SERVER_PRODUCTS} server",
            f'write one such as "{store_url.SERVER_EXAMPLE}", or leave it out',
        )
    return value


class ExchangeSection(ConfigSection):
    """Where the runs of agents go: by default to workers of this machine alone."""

    url: Annotated[str, BeforeValidator(_exchange_url)] = Field(
        default="",
        description=f"A database on a {store_url.SERVER_PRODUCTS} server, of which workers on other machines take "
        "runs; if it is empty, runs stay on this machine.",
    )
    local: Flag = Field(
        default=True,
        description="Whether the dispatcher's own machine takes runs from that database, too; checks always run there.",
    )
    keep: Duration = Field(
        default=timedelta(days=30),
        ge=timedelta(hours=1),
        description="How long the messages of a run are kept after its end; the shortest time of all dispatchers that "
        "share a server.",
    )
