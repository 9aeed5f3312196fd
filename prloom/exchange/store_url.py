"""Open a store by its name: a path is SQLite, a URL a server; the default is the repository's exchange."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from prloom.exchange.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.exchange.protocol import ExchangeStore

VARIABLE = "PRLOOM_EXCHANGE"
_LOCAL = ".local"
IN_REPOSITORY = f"prloom/{_LOCAL}/exchange.db"


class ServerStore(NamedTuple):
    """A store on a server: what its URLs begin with, its class, and what pip has to install for it."""

    product: str
    schemes: tuple[str, ...]
    module: str
    store: str
    library: str


SERVERS = (
    ServerStore(
        product="PostgreSQL",
        schemes=("postgresql://", "postgres://"),
        module="prloom.exchange.postgres.store",
        store="PostgresStore",
        library="psycopg[binary]",
    ),
)
"""The stores that a URL names; every other name is a path."""

NAMES = ", or ".join(("a file", *(f"{server.schemes[0]}..." for server in SERVERS)))
"""The names that a store may have, for people."""

SERVER_PRODUCTS = " or ".join(server.product for server in SERVERS)
SERVER_EXAMPLE = f"{SERVERS[0].schemes[0]}host/database"
"""What other machines can reach, for people: the servers, and a URL of one."""


def server_of(name: str) -> ServerStore | None:
    """Return the server that a store's name is a URL of; None for a path."""
    return next((server for server in SERVERS if name.startswith(server.schemes)), None)


def open_store(name: str | os.PathLike[str] | None = None, *, start: Path | None = None) -> ExchangeStore:
    """Open the store of that name; raises StoreError where none is named, or it cannot be opened.

    Without a name it is the one in PRLOOM_EXCHANGE, else `prloom/.local/exchange.db` of the repository around `start`
    (the working folder).
    """
    if name is not None:
        wanted = os.fspath(name)
    else:
        wanted = os.environ.get(VARIABLE) or ""
    server = server_of(wanted)
    if server is not None:
        return _on_server(server, wanted)
    from pathlib import Path  # noqa: PLC0415 (likewise, and no help text)

    from prloom.exchange.sqlite.store import SqliteStore  # noqa: PLC0415 (a server's clients need none)

    return SqliteStore(wanted or _in_repository(start or Path.cwd()))


def _on_server(server: ServerStore, url: str) -> ExchangeStore:
    try:
        module = import_module(server.module)
    except ImportError as error:
        from prloom import installed  # noqa: PLC0415 (only a failure needs it)

        raise StoreError(
            f"{server.product} needs a library ({error}); get it with `{installed.how_to_add(server.library)}`"
        ) from error
    opened: ExchangeStore = getattr(module, server.store)(url)
    return opened


def _in_repository(start: Path) -> Path:
    """Return the path of the repository's exchange, and create its folder; raises StoreError for a symbolic link."""
    # The only thing that the exchange needs of prloom: without a name, the repository's exchange is where prloom is.
    from prloom.errors import WorkspaceError  # noqa: PLC0415 (a program that names its exchange needs neither)
    from prloom.workspace import root  # noqa: PLC0415

    try:
        top = root.find(start).path
    except WorkspaceError as error:
        raise StoreError(f"{error}; or name a database with --database or {VARIABLE}") from error
    folder = top
    for part in IN_REPOSITORY.split("/")[:-1]:
        folder /= part
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a symbolic link; remove it, or name a database with --database or {VARIABLE}"
            )
        _make(folder)
    _restrict_permissions(top / IN_REPOSITORY)
    return top / IN_REPOSITORY


def _restrict_permissions(database: Path) -> None:
    """Remove other users' permissions from prloom's folder and the database, which an earlier version may have set."""
    for path in (database.parent, database.parent / ".gitignore", *database.parent.glob(f"{database.name}*")):
        with suppress(OSError):  # it is not there, or another user's
            mode = path.lstat().st_mode
            if mode & 0o077 and not stat.S_ISLNK(mode):
                path.chmod(0o700 if stat.S_ISDIR(mode) else 0o600)


def _make(folder: Path) -> None:
    """Create a folder where there is none; prloom's own tells git to ignore it, as caches do."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    if folder.name == _LOCAL:
        fd = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write("*\n")
