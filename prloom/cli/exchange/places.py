"""Find and open the exchange that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.cli.options import Options
    from prloom.exchange.exchange import Exchange

database_option = click.option(
    "--database",
    metavar="PATH|URL",
    help="The exchange: a file, or postgresql://...  [default: PRLOOM_EXCHANGE, or this repository's]",
)


def opened(given: Options, database: str | None) -> Exchange:
    """Open the exchange that was named, or the environment's, or the repository's; raises StoreError."""
    from pathlib import Path  # noqa: PLC0415 - `prloom exchange --help` needs none

    from prloom.cli import options  # noqa: PLC0415
    from prloom.exchange import opening  # noqa: PLC0415
    from prloom.exchange.exchange import Exchange  # noqa: PLC0415

    try:
        start = options.repo_root(given)
    except PrloomError:  # no repository is needed where an exchange is named
        start = Path(given.directory).absolute()
    return Exchange(opening.store(database or None, start=start))


def name_of(exchange: Exchange, database: str | None) -> str:
    """Return the name by which another process, in whatever folder, opens the same exchange."""
    import os  # noqa: PLC0415

    from prloom.exchange.opening import VARIABLE  # noqa: PLC0415

    path: str | None = getattr(exchange.store, "path", None)
    return path or database or os.environ[VARIABLE]
