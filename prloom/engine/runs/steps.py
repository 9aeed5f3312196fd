"""Read what happens in a run, for people: what its program prints, and what the dispatcher handles meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prloom.agents.agent import StreamEntry
from prloom.engine.runs import activity
from prloom.engine.runs.handled_activity import HandledActivity
from prloom.engine.runs.output import RunOutput


class RunSteps:
    """The steps of a run, from where the last reading ended.

    The activity says behind which line of the output an event was written, as far as the program's lines are activity
    themselves; a program that reports nothing has its output behind the dispatcher's lines, unless it is followed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._output = RunOutput(folder)
        self._handled = HandledActivity()
        self._read = 0
        self._behind = -1

    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self._output.is_over()

    def entries(self, *, last: bool = False) -> Iterator[StreamEntry]:
        """Yield what was added since; with `last` nothing more will be."""
        waiting = self._of_dispatcher()
        begun = next(waiting, None)
        skipped = None
        for offset, entry in self._output.placed(last=last):
            while begun is not None and begun[0] < offset:
                yield begun[1]
                begun = next(waiting, None)
            if entry.kind == "call":
                skipped = None
                if self._handled.is_shown(entry):
                    skipped = offset
            if offset != skipped:
                yield entry
        while begun is not None:
            yield begun[1]
            begun = next(waiting, None)

    def _of_dispatcher(self) -> Iterator[tuple[int, StreamEntry]]:
        """Yield what the dispatcher has written since, each with the offset of the last line before it."""
        while True:
            found, end = activity.stored(self._folder, self._read)
            for each in found:
                if each.position is not None:
                    self._behind = each.position.offset
                entry = self._handled.entry(each)
                if entry is not None:
                    yield self._behind, entry
            if end == self._read:
                return
            self._read = end
