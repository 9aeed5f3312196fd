"""Read what happens in a run, for people: what its program prints, and what the dispatcher handles meanwhile."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

from prloom.agents.agent import StreamEntry
from prloom.engine.runs import activity
from prloom.engine.runs.handled_activity import HandledActivity
from prloom.engine.runs.output import RunOutput
from prloom.storage.activity_file import StoredActivity

EntryInOrder = tuple[int, StreamEntry]
"""An entry with the offset of the line in the output that tells it, or behind which it happened."""


class RunSteps:
    """The steps of a run, from where the last reading ended.

    A call that the program prints is where the program prints it, for the dispatcher handles calls and reads the output
    at different times. The activity says behind which line any other event was written, as far as the program's lines
    are activity themselves.
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
        stored = list(self._stored())  # first: what was printed before it was handled is in the output by now
        printed = list(self._of_program(last=last))
        over, replaced = _over(printed), set[int]()
        handled = list(self._of_dispatcher(stored, over, replaced))
        kept = [each for each in printed if each[0] not in replaced]
        for _, entry in heapq.merge(kept, handled, key=itemgetter(0)):
            yield entry

    def _of_program(self, *, last: bool) -> Iterator[EntryInOrder]:
        """Yield what the program has printed since, without the calls that were shown already."""
        skipped = None
        for at, entry in self._output.placed(last=last):
            if entry.kind == "call":
                skipped = None
                if self._handled.is_shown(entry, at):
                    skipped = at
            if at != skipped:
                yield at, entry

    def _of_dispatcher(
        self, stored: Sequence[StoredActivity], over: set[int], replaced: set[int]
    ) -> Iterator[EntryInOrder]:
        """Yield what the dispatcher has written, without calls that the program prints before it makes them.

        A line of a call that is `over` is noted as `replaced` where the call is shown instead.
        """
        for each in stored:
            if each.position is not None:
                self._behind = max(self._behind, each.position.offset)
            printed_at = self._handled.printed_at(each)
            if printed_at is not None:
                self._behind = max(self._behind, printed_at)
                if printed_at not in over:
                    continue
                replaced.add(printed_at)
            entry = self._handled.entry(each)
            if entry is not None:
                yield self._behind, entry

    def _stored(self) -> Iterator[StoredActivity]:
        """Yield what was written since."""
        while True:
            found, end = activity.stored(self._folder, self._read)
            yield from found
            if end == self._read:
                return
            self._read = end


def _over(printed: Sequence[EntryInOrder]) -> set[int]:
    """Return the offsets of the lines that tell of a call when it is over: what came to pass meanwhile is before them.

    What the dispatcher has handled is shown in their place.
    """
    return {
        at
        for (at, entry), (next_at, following) in pairwise(printed)
        if at == next_at and entry.kind == "call" and following.kind in {"result", "error"}
    }
