"""Keep in an SQLite file where each id of a journal is: a cache, which may be removed or damaged at any time."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from prloom.errors import StorageError
from prloom.model.record import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prloom.storage.safe_dir import SafeDir

_FORMAT = 1
_OFFSET_BITS = 40  # the places of ids are stored as one number: the segment, then the offset
_CHUNK = 1 << 15
"""Rows that are sorted and inserted together: in the order of their keys they touch few pages."""
_PATIENCE = 1.0  # seconds; only a second dispatcher, which the dispatcher's lock excludes, would have to be waited for

# The file is read without a memory map, since a mapped file that is cut ends the process. Its rollback journal keeps
# it whole if prloom is killed.
_SETTINGS = """
PRAGMA mmap_size = 0;
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -16384;
"""
_TABLES = f"""
CREATE TABLE segments (number INTEGER PRIMARY KEY, read_to INTEGER NOT NULL, fingerprint INTEGER NOT NULL);
CREATE TABLE ids (key INTEGER, place INTEGER, PRIMARY KEY (key, place)) WITHOUT ROWID;
PRAGMA user_version = {_FORMAT};
"""
_OLD_TABLE = re.compile(r"events-\d+(-\d+)?\.index")


class IdCacheError(StorageError):
    """The cache cannot be used: make it again."""


class Covered(NamedTuple):
    """How far a segment of the journal is in the cache, and the fingerprint of that part of it."""

    read_to: int
    fingerprint: int


class IdCache:
    """A table of the hashes of ids, with the places at which they may be; close it after use.

    Two ids may have one hash, so each place has to be checked in the journal. Without a folder, the table is in memory.
    Every method raises IdCacheError for a file that is damaged, cannot be written or is not what it should be.
    """

    def __init__(self, folder: SafeDir | None, name: str = "") -> None:
        self.in_memory = folder is None
        path = ":memory:"
        if folder is not None:
            path = _prepared(folder, name)
        with _as_cache_error():
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if hasattr(self, "_db"):
            with suppress(sqlite3.Error):
                self._db.close()

    def positions(self, event_id: str) -> list[Position]:
        """Return the places at which an id may be, those in the latest segments first."""
        with _as_cache_error():
            rows = self._db.execute("SELECT place FROM ids WHERE key = ?", (_key(event_id),)).fetchall()
        found = [Position(place >> _OFFSET_BITS, place & (1 << _OFFSET_BITS) - 1) for (place,) in rows]
        return sorted(found, key=lambda at: (-at.segment, at.offset))

    def covered(self) -> dict[int, Covered]:
        """Return how far each segment is in the cache, by its number."""
        with _as_cache_error():
            rows = self._db.execute("SELECT number, read_to, fingerprint FROM segments").fetchall()
        return {number: Covered(read_to, fingerprint) for number, read_to, fingerprint in rows}

    def add(self, ids: Iterable[tuple[str, Position]], covered: dict[int, Covered]) -> None:
        """Add ids with their positions, and note how far the segments are in the cache now: both or neither."""
        rows = ((_key(event_id), at.segment << _OFFSET_BITS | at.offset) for event_id, at in ids)
        with self._transaction() as db:
            while chunk := sorted(islice(rows, _CHUNK)):
                db.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", chunk)
            segments = [(number, *each) for number, each in covered.items()]
            db.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?, ?)", segments)

    def remove(self, number: int) -> None:
        """Forget a segment. Its rows stay: a place at which there is no such event is passed over."""
        with self._transaction() as db:
            db.execute("DELETE FROM segments WHERE number = ?", (number,))

    def _set_up(self) -> None:
        with _as_cache_error():
            self._db.executescript(_SETTINGS)
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            is_new = version == 0 and not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if is_new:
            with self._transaction() as db:
                for statement in _TABLES.strip().split("\n"):
                    db.execute(statement)
        elif version != _FORMAT:
            raise IdCacheError(f"the table of ids has the format {version}, not {_FORMAT}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _as_cache_error():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            with _as_cache_error():
                yield self._db
                self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise


def delete(folder: SafeDir, name: str) -> None:
    """Remove the file, so that the next cache begins anew."""
    for each in (f"{name}-journal", name):
        if folder.exists(each):  # which raises for a link: that is not ours
            folder.remove(each)


def remove_old_caches(folder: SafeDir) -> None:
    """Remove the tables of ids that an earlier version kept beside the journal."""
    for name in folder.names():
        if _OLD_TABLE.fullmatch(name):
            with suppress(StorageError):
                folder.remove(name)


def _prepared(folder: SafeDir, name: str) -> str:
    """Return the path of a file that is there, is no link, and is private; SQLite itself would follow a link."""
    if folder.exists(name):
        folder.exists(f"{name}-journal")  # raises for a link
    else:
        folder.write_new(name, ())
    by_descriptor = f"/proc/self/fd/{folder.fd}/{name}"
    if os.path.exists(by_descriptor):  # noqa: PTH110 - a string for SQLite
        return by_descriptor
    return folder.where(name)


@contextmanager
def _as_cache_error() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise IdCacheError(f"the table of ids cannot be used: {error}") from error


def _key(event_id: str) -> int:
    """Return the hash of an id: 8 bytes, as a number that SQLite can store."""
    digest = blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
