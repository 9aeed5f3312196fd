"""Keep what could not be used for people to look at, and clear away what crashes left."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prloom.errors import StorageError
from prloom.storage.safe_dir import TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prloom.storage.safe_dir import SafeDir

_STALE = 3600.0  # seconds; no write of ours lasts an hour, so an older temporary file is a crash's


def copy(folder: SafeDir, name: str, label: str, chunks: Iterable[bytes]) -> str:
    """Write a piece of `name` into a new file `<name>.<label>-<UTC time>`, flushed, and return its name."""
    aside = _free_name(folder, name, label)
    folder.write_new(aside, chunks)
    folder.sync()
    return aside


def move(folder: SafeDir, name: str, label: str) -> str:
    """Rename a file to `<name>.<label>-<UTC time>`, never over another one, and return the new name."""
    aside = _free_name(folder, name, label)
    folder.rename(name, aside)
    folder.sync()
    return aside


def sweep(folder: SafeDir, now: float | None = None, *, older_than: float = _STALE) -> tuple[str, ...]:
    """Remove the temporary files that crashes left, and return their names; times are in seconds."""
    limit = (time.time() if now is None else now) - older_than
    swept = []
    for name in folder.names():
        if name.startswith(".") and name.endswith(TEMPORARY):
            with suppress(StorageError):  # a folder, a link: not ours to touch
                found = folder.stat(name)
                if found is not None and found.st_mtime <= limit:
                    folder.remove(name)
                    swept.append(name)
    return tuple(swept)


def tidy(folder: SafeDir, *below: tuple[str, ...]) -> None:
    """Remove what crashes left in a folder and in those below it that are there; what cannot be looked at is left."""
    with suppress(StorageError):
        sweep(folder)
    for names in below:
        with suppress(StorageError):
            found = folder.sub(*names)
            if found is not None:
                with found:
                    sweep(found)


def _free_name(folder: SafeDir, name: str, label: str) -> str:
    """Choose a name under the folder's lock, so that no other process chooses the same."""
    first = aside = f"{name}.{label}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    taken = frozenset(folder.names())
    count = 1
    while aside in taken:
        count += 1
        aside = f"{first}-{count}"
    return aside
