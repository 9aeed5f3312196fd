"""Read what an agent has said and done so far from the folder of its run, while it goes on or afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prloom.agents import registry, run_folder
from prloom.agents.agent import StreamEntry
from prloom.agents.run_spec import RunSpec
from prloom.engine.runs import records

_CHUNK = 1 << 20
_LONGEST_LINE = 16 << 20


@dataclass
class RunOutput:
    """Reads a run's output from where the last reading ended; what a text's pieces make together is one entry."""

    folder: Path

    def __post_init__(self) -> None:
        spec = run_folder.load(self.folder, run_folder.INVOCATION, RunSpec)
        agent = registry.AGENTS.get(spec.agent if spec else "")
        self._read = (agent or registry.AGENTS["command"]).entries
        self._offset = 0
        self._rest = b""
        self._pieces: list[str] = []

    def is_over(self) -> bool:
        """Whether the run has ended."""
        return records.is_over(self.folder)

    def entries(self, *, last: bool = False) -> Iterator[StreamEntry]:
        """Yield what was added since; with `last` nothing more will be, so that the end needs no newline."""
        for _, entry in self.placed(last=last):
            yield entry

    def placed(self, *, last: bool = False) -> Iterator[tuple[int, StreamEntry]]:
        """Yield what was added since, each with the offset of the line that tells it; see `entries`."""
        while chunk := run_folder.read_from(self.folder, run_folder.OUTPUT, self._offset, _CHUNK):
            at = self._offset - len(self._rest)
            self._offset += len(chunk)
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            for line in whole:
                for entry in self._joined(line):
                    yield at, entry
                at += len(line) + 1
            if len(self._rest) > _LONGEST_LINE:  # no event of an agent; what follows of it is not read as one either
                self._rest = b""
        if last:
            at = self._offset - len(self._rest)
            for entry in self._joined(self._rest):
                yield at, entry
            self._rest = b""
            for entry in self._text():
                yield at, entry

    def _joined(self, line: bytes) -> Iterator[StreamEntry]:
        for entry in self._read(line.decode("utf-8", "replace")):
            if entry.kind == "piece":
                self._pieces.append(entry.text)
            else:
                yield from self._text()
                yield entry

    def _text(self) -> Iterator[StreamEntry]:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text:
            yield StreamEntry(kind="text", text=text)
