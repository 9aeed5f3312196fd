"""Find and open the exchange that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.errors import PrloomError

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.cli.options import Options
    from prloom.exchange.exchange import Exchange

database_option = click.option(
    "--database",
    metavar="PATH|URL",
    help="The exchange: a file, or postgresql://...  [default: PRLOOM_EXCHANGE, or this repository's]",
)


def open_exchange(given: Options, database: str | None) -> Exchange:
    """Open the exchange that was named, or the environment's, or the repository's; raises StoreError."""
    import os  # noqa: PLC0415 - `prloom exchange --help` needs none
    from pathlib import Path  # noqa: PLC0415

    from prloom.cli import options  # noqa: PLC0415
    from prloom.exchange import store_url  # noqa: PLC0415
    from prloom.exchange.exchange import Exchange  # noqa: PLC0415

    try:
        start = options.repo_root(given)
    except PrloomError:  # no repository is needed where an exchange is named
        start = Path(given.directory).absolute()
    if not (database or os.environ.get(store_url.VARIABLE) or (start / store_url.IN_REPOSITORY).exists()):
        _keep_out_of_git(start)
    return Exchange(store_url.open_store(database or None, start=start))


def _keep_out_of_git(root: Path) -> None:
    """Keep prloom's folder out of git, before there is anything in it, as `prloom init` does."""
    from contextlib import suppress  # noqa: PLC0415 - once in a repository's life

    from prloom.workspace import repository  # noqa: PLC0415 - likewise
    from prloom.workspace import root as roots  # noqa: PLC0415 - likewise

    with suppress(PrloomError):  # no repository, or a broken one: then git sees nothing anyway, or nothing helps
        found = repository.find(root)
        roots.claim(repository.main_checkout(found))
        repository.exclude(found, found.root / roots.LOCAL_STATE)


def name_of(exchange: Exchange, database: str | None) -> str:
    """Return the name by which another process, in whatever folder, opens the same exchange."""
    import os  # noqa: PLC0415

    from prloom.exchange.store_url import VARIABLE  # noqa: PLC0415

    path: str | None = getattr(exchange.store, "path", None)
    return path or database or os.environ[VARIABLE]
