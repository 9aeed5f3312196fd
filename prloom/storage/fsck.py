"""Find what is wrong with the files of a folder, for `prloom doctor`; changes nothing."""

from __future__ import annotations

import os
import re
from typing import IO, TYPE_CHECKING, NamedTuple

from prloom.errors import StorageError
from prloom.storage import document, envelope, lines, repair
from prloom.storage.document import Document
from prloom.storage.json_codec import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prloom.storage.safe_dir import SafeDir

    Check = Callable[[bytes], str | None]

FINDINGS = 50  # a file; the rest is counted in one last finding
_QUARANTINED = re.compile(rf"\.({document.LABEL}|{repair.TORN})-\d{{8}}T\d{{6}}Z(-\d+)?\Z")

_WHY_QUARANTINED = {
    document.LABEL: "a state file that could not be read was set aside here",
    repair.TORN: "the unfinished last line of a process that was killed was set aside here",
}
UNFINISHED = "the last line is unfinished"
"""The reason of a finding that needs no repair by a person."""

_SKIPPED = "fix the line while prloom is stopped, or leave it: it is skipped, and the other lines count"


class FileFinding(NamedTuple):
    """Something wrong: the file's path, the line (from 1; None: the file as such), why, and what to do."""

    file: str
    line: int | None
    reason: str
    fix: str


def unreadable(line: bytes) -> str | None:
    """Return why a line is no envelope, or None if it is one."""
    found = envelope.decode(line)
    if isinstance(found, Unreadable):
        return found.reason
    return None


def findings(folder: SafeDir, *, check: Check = unreadable, limit: int = FINDINGS) -> tuple[FileFinding, ...]:
    """Look through all journals and documents of a folder and what was set aside there, at most `limit` lines a file.

    `check` says what is wrong with a journal's line, or None.
    """
    return tuple(finding for name in folder.names() for finding in _check_file(folder, name, check, limit))


def _check_file(folder: SafeDir, name: str, check: Check, limit: int) -> Iterator[FileFinding]:
    path = folder.where(name)
    if (quarantined := _QUARANTINED.search(name)) is not None:
        yield FileFinding(path, None, _WHY_QUARANTINED[quarantined[1]], "read it, then remove it")
        return
    try:
        if name.endswith(".jsonl"):
            yield from _bounded(_journal(folder, name, check), path, limit)
        elif name.endswith(".json"):
            yield from _document(folder, name)
    except StorageError as error:
        reason, _, fix = str(error).partition("; ")
        yield FileFinding(path, None, reason, fix or "correct that, and run `prloom doctor` again")


def _document(folder: SafeDir, name: str) -> Iterator[FileFinding]:
    found = Document(folder, name).peek()
    if found.reason is not None:
        yield FileFinding(
            folder.where(name), None, found.reason, "start prloom: it sets the file aside and rebuilds it"
        )


def _bounded(found: Iterator[FileFinding], path: str, limit: int) -> Iterator[FileFinding]:
    more = 0
    for count, finding in enumerate(found):
        if count < limit:
            yield finding
        else:
            more += 1
    if more:
        yield FileFinding(path, None, f"{more} more of its lines cannot be read", "fix the lines above first")


def _journal(folder: SafeDir, name: str, check: Check) -> Iterator[FileFinding]:
    fd = folder.open_to_read(name)
    if fd is None:
        return
    path = folder.where(name)
    with os.fdopen(fd, "rb") as file:
        number = 0
        while piece := file.readline(lines.LINE_LIMIT + 1):
            number += 1
            if not piece.endswith(b"\n"):
                whole = _read_to_line_end(file)
                if len(piece) > lines.LINE_LIMIT:
                    yield FileFinding(path, number, f"it is longer than {lines.LINE_LIMIT} bytes", _SKIPPED)
                if not whole:
                    yield FileFinding(path, number, UNFINISHED, "nothing; the next append fixes it")
            elif not piece.isspace() and (reason := check(piece)) is not None:
                yield FileFinding(path, number, reason, _SKIPPED)


def _read_to_line_end(file: IO[bytes]) -> bool:
    """Read to the end of the line; return whether it has one."""
    while piece := file.readline(lines.LINE_LIMIT):
        if piece.endswith(b"\n"):
            return True
    return False
