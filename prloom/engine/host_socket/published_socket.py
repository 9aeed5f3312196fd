"""Publish where the dispatcher's socket is, and find it there: a command may have another runtime folder than it."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prloom.errors import PrloomError, StorageError
from prloom.storage import json_codec, paths

if TYPE_CHECKING:
    from prloom.storage.json_codec import Unreadable
    from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_LIMIT: Final = 64 * 1024
_OTHERS: Final = 0o077
_RESTART: Final = "stop the dispatcher, and run `prloom start` again"


def publish(local: SafeDir, socket: Path) -> None:
    """Write the socket's path into `prloom/.local`; where that fails, a warning says that commands do not find it."""
    try:
        local.replace(paths.HOST_SOCKET, json_codec.encode({"path": str(socket)}, pretty=True), lasting=False)
    except StorageError as error:
        log.warning("commands such as `prloom allow` will not find the dispatcher's socket: %s", error)


def withdraw(local: SafeDir) -> None:
    """Remove the file; one that stays names a socket that is gone."""
    with suppress(StorageError):
        local.remove(paths.HOST_SOCKET)


def find(local: SafeDir) -> str:
    """Return the path of the socket that the dispatcher has published.

    The file is data that anybody may have put there: a socket is used only if it and its folder are this user's alone.
    Raises PrloomError where they are not, and FileNotFoundError where nothing is published or the socket is gone.
    """
    content = local.read_bytes(paths.HOST_SOCKET, limit=_LIMIT)
    if content is None:
        raise FileNotFoundError(local.where(paths.HOST_SOCKET))
    path = _path(json_codec.decode(content))
    if path is None:
        raise PrloomError(f"{local.where(paths.HOST_SOCKET)} does not name a socket; {_RESTART}")
    _require_private(path.parent, stat.S_ISDIR, "a folder")
    _require_private(path, stat.S_ISSOCK, "a socket")
    return str(path)


def _path(published: dict[str, object] | Unreadable) -> Path | None:
    match published:
        case {"path": str(text)} if text.startswith("/") and "\0" not in text:
            return Path(text)
    return None


def _require_private(path: Path, is_kind: Callable[[int], bool], kind: str) -> None:
    """Raise PrloomError for what is of another kind, another user's, or open to others."""
    found = path.lstat()
    if not is_kind(found.st_mode):
        raise PrloomError(f"{path}, where the dispatcher's socket was published, is not {kind}; {_RESTART}")
    if found.st_uid != os.getuid():
        raise PrloomError(
            f"{path} belongs to user {found.st_uid}, and this command runs as user {os.getuid()}; "
            "run it as the user who started the dispatcher"
        )
    if found.st_mode & _OTHERS:
        raise PrloomError(f"other users may use {path}, so it is not trusted; {_RESTART}")
