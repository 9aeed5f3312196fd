"""Read the output of an agent program in pieces while the program writes it, and turn its lines into events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from prloom import errors
from prloom.agents import registry, run_folder
from prloom.agents.activity import adapter
from prloom.core.activity.activity_data import cleaned
from prloom.core.text.secret_scan import SecretMask
from prloom.engine.activity.stream import Placed
from prloom.model.activity import ActivityDraft
from prloom.storage.activity_file import OutputPosition

log = logging.getLogger(__name__)

PIECE: Final = 64 * 1024
"""Bytes that are read at once: however fast a program prints, nothing else waits for longer than this takes."""

LONGEST_LINE: Final = 16 << 20
_KEPT: Final = 128 * 1024


class RunFile:
    """The output in the folder of a run, where the program may have replaced it by anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def size(self) -> int:
        """Return how many bytes there are; looking costs less than reading."""
        try:
            return (self._folder / run_folder.OUTPUT).lstat().st_size
        except OSError:
            return 0

    def read(self, offset: int, limit: int) -> bytes:
        """Return bytes from an offset on, at most so many."""
        return run_folder.read_from(self._folder, run_folder.OUTPUT, offset, limit)


class OutputReader:
    """Reads the output of one run from its beginning; events up to the position `after` are passed over.

    What the adapter keeps of earlier lines is made again by reading these lines again, so that after a crash the rest
    gives the same events as it would have given without one.
    """

    def __init__(
        self, output: RunFile, agent: str, mask: Callable[[], SecretMask], after: OutputPosition | None = None
    ) -> None:
        self._output = output
        self._adapter = registry.activity_adapter(agent)
        self._mask = mask
        self._after = after
        self._offset = 0
        self._line_at = 0
        self._rest = bytearray()
        self._dropped = 0

    def has_more(self) -> bool:
        """Whether there is output that was not read yet."""
        return self._output.size() > self._offset

    def next_piece(self) -> list[Placed] | None:
        """Return the events of the next piece; None where there is no more output yet."""
        chunk = self._output.read(self._offset, PIECE)
        if not chunk:
            return None
        self._offset += len(chunk)
        return list(self._events(chunk))

    def unfinished(self) -> list[Placed]:
        """Return the events of a last line without its newline, when nothing more will come."""
        line, self._rest = bytes(self._rest), bytearray()
        return list(self._placed(line, self._line_at))

    def _events(self, chunk: bytes) -> Iterator[Placed]:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line = bytes(self._rest) + part
            at, self._line_at = self._line_at, self._line_at + len(line) + 1 + self._dropped
            self._rest, self._dropped = bytearray(), 0
            yield from self._placed(line, at)
        self._rest += rest
        if len(self._rest) > LONGEST_LINE:  # no event of an agent: its beginning is kept as an unknown line
            self._dropped += len(self._rest) - _KEPT
            del self._rest[_KEPT:]

    def _placed(self, line: bytes, at: int) -> Iterator[Placed]:
        for number, draft in enumerate(self._drafts(line.decode("utf-8", "replace"))):
            position = OutputPosition(at, number)
            if self._after is None or position > self._after:
                yield replace(draft, data=cleaned(draft.data, self._mask())), position

    def _drafts(self, line: str) -> tuple[ActivityDraft, ...]:
        try:
            return adapter.read_line(self._adapter, line)
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, "the line is kept as an unknown one")
            return (adapter.unknown(line),)
