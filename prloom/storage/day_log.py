"""Keep records of one kind in one file for each day (UTC), in a folder of the main checkout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from prloom.model import record
from prloom.model.record import Cursor, Record
from prloom.storage import envelope, paths
from prloom.storage.envelope import Envelope
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

R = TypeVar("R", bound=Record)

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")


class DayLog(Generic[R]):
    """The records of a kind and a shape, in a folder below `prloom/.local`. A line that is damaged is no record."""

    def __init__(self, folder: str, kind: str, shape: type[R]) -> None:
        self._folder = folder
        self._kind = kind
        self._shape = shape

    def append(self, root: Path, entry: R, of: datetime, now: datetime) -> None:
        """Append a record to the file of the day of a time; raises StorageError."""
        with SafeDir.make(root, *paths.LOCAL, self._folder) as folder:
            journal = Journal(folder, f"{day(of)}.jsonl")
            journal.append([envelope.encode(self._kind, record.sparse(entry), record.iso(now))])

    def days(self, root: Path) -> tuple[str, ...]:
        """Return the days of which there is a file, such as `2026-11-21`, in their order."""
        folder = SafeDir.open(root, *paths.LOCAL, self._folder)
        if folder is None:
            return ()
        with folder:
            return tuple(sorted(found[1] for name in folder.names() if (found := _DAY.fullmatch(name))))

    def newest_days(self, root: Path, since: datetime | None) -> Iterator[str]:
        """Yield the days of which there is a file, from the newest back to that of a time, or to the first."""
        for each in reversed(self.days(root)):
            if since is not None and each < day(since):
                return
            yield each

    def of_day(self, root: Path, day: str) -> list[R]:
        """Return the records in the file of a day, in their order."""
        folder = SafeDir.open(root, *paths.LOCAL, self._folder)
        if folder is None:
            return []
        with folder:
            return list(self._read(JournalReader(folder, f"{day}.jsonl").scan()))

    def ends(self, root: Path) -> dict[str, Cursor]:
        """Return how far the files of the last two days reach, by day; `added` continues there."""
        return {each: journal.end() for each, journal in self._latest(root)}

    def added(self, root: Path, known: Mapping[str, Cursor]) -> tuple[list[R], dict[str, Cursor]]:
        """Return what was appended to the files of the last two days since they were read, and how far they reach."""
        found: list[R] = []
        reached: dict[str, Cursor] = {}
        for each, journal in self._latest(root):
            batch = journal.read(known.get(each, Cursor()))
            found += self._read(batch.entries)
            reached[each] = batch.cursor
        return found, reached

    def _latest(self, root: Path) -> Iterator[tuple[str, JournalReader]]:
        folder = SafeDir.open(root, *paths.LOCAL, self._folder)
        if folder is None:
            return
        with folder:
            for each in self.days(root)[-2:]:
                yield each, JournalReader(folder, f"{each}.jsonl")

    def _read(self, entries: Iterable[JournalEntry]) -> Iterator[R]:
        for entry in entries:
            found = envelope.decode(entry.line)
            if isinstance(found, Envelope) and found.kind == self._kind:
                try:
                    yield record.from_wire(self._shape, found.data)
                except msgspec.ValidationError:
                    continue


def day(moment: datetime) -> str:
    """Return the day (UTC) of a time, such as `2026-11-21`."""
    return record.iso(moment)[: len("2026-11-21")]
