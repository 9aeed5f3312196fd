"""Keep, in a run's folder, the results of machines that had lost the run by then: they are used for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from prloom.errors import StorageError
from prloom.model import record
from prloom.model.record import Record, Timestamp
from prloom.storage import json_codec
from prloom.storage.safe_dir import SafeDir

FILE: Final = "late.json"

_MOST: Final = 20


class LateResult(Record, frozen=True, kw_only=True):
    """What a machine came to that had lost the run, and when that came; `id` is the message's."""

    id: str
    at: Timestamp
    machine: str
    status: str
    text: str

    @property
    def described(self) -> str:
        """What came, as a sentence's end."""
        if self.text:
            return f"{self.status}, {self.text}"
        return self.status


class LateResults(Record, frozen=True, kw_only=True):
    """The file: all of them, the oldest first."""

    results: tuple[LateResult, ...] = ()


def read(folder: Path) -> tuple[LateResult, ...]:
    """Return what came late for the run of a folder."""
    try:
        opened = SafeDir.open(folder)
        if opened is None:
            return ()
        with opened:
            content = opened.read_bytes(FILE)
        return record.decode(LateResults, content or b"{}").results
    except (StorageError, msgspec.DecodeError, UnicodeDecodeError):  # agents can write there
        return ()


def add(folder: Path, late: LateResult) -> bool:
    """Write one down, unless it is there, or many are; return whether it was written. Raises StorageError."""
    present = read(folder)
    opened = SafeDir.open(folder)
    if opened is None or len(present) >= _MOST or any(each.id == late.id for each in present):
        return False
    with opened:
        opened.replace(FILE, json_codec.encode(record.to_wire(LateResults(results=(*present, late)))))
    return True
