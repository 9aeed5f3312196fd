"""Open a store by its name: a path is SQLite, `postgresql://` a server; the default is the repository's exchange."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from prloom.exchange.errors import StoreError

if TYPE_CHECKING:
    from prloom.exchange.protocol import ExchangeStore

VARIABLE = "PRLOOM_EXCHANGE"
IN_REPOSITORY = Path("prloom/.local/exchange.db")
_SERVERS = ("postgresql://", "postgres://")


def open_store(name: str | os.PathLike[str] | None = None, *, start: Path | None = None) -> ExchangeStore:
    """Open the store of that name; raises StoreError where none is named, or it cannot be opened.

    Without a name it is the one in PRLOOM_EXCHANGE, else `prloom/.local/exchange.db` of the repository around `start`
    (the working folder).
    """
    if name is not None:
        wanted = os.fspath(name)
    else:
        wanted = os.environ.get(VARIABLE) or ""
    if wanted.startswith(_SERVERS):
        return _server(wanted)
    from prloom.exchange.sqlite.store import SqliteStore  # noqa: PLC0415 (a server's clients need none)

    return SqliteStore(wanted or _in_repository(start or Path.cwd()))


def _server(url: str) -> ExchangeStore:
    try:
        module = import_module("prloom.exchange.postgres.store")
    except ImportError as error:
        raise StoreError(
            f"PostgreSQL needs a library ({error}); get it with `pip install 'prloom[postgres]'`"
        ) from error
    opened: ExchangeStore = module.PostgresStore(url)
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
    for part in IN_REPOSITORY.parent.parts:
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
    if folder.name == IN_REPOSITORY.parent.name:
        fd = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write("*\n")
