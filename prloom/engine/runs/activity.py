"""Read what a run has done from its activity file, also while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from prloom.engine.runs import records
from prloom.model.activity import ActivityEvent
from prloom.storage import activity_file, paths
from prloom.storage.activity_file import StoredActivity
from prloom.storage.safe_dir import SafeDir

_PIECE: Final = 256 * 1024
_MOST_READS: Final = 10
"""How often the file of a run that is over is read again for its end, which a dispatcher writes a moment later."""


def exists(folder: Path) -> bool:
    """Whether a run has recorded activity: an earlier version of prloom wrote none."""
    return (folder / activity_file.NAME).is_file()


def events(folder: Path, *, wait: Callable[[], None] | None) -> Iterator[ActivityEvent]:
    """Yield the events of a run so far; with `wait`, which is called between two reads, until the run has ended."""
    offset, reads = 0, 0
    while True:
        if records.is_over(folder):  # first: what it did until then is read after
            reads += 1
        read, end = stored(folder, offset)
        found = [each.event for each in read]
        yield from found
        if end > offset:
            offset, reads = end, 0
            if any(event.type == "AGENT_END" for event in found):
                return
            continue
        if wait is None or reads >= _MOST_READS:
            return
        wait()


def stored(folder: Path, offset: int) -> tuple[tuple[StoredActivity, ...], int]:
    """Return some of the events in the file of a run from an offset on, and where to go on."""
    root, parts = paths.of_run(folder)
    opened = SafeDir.open(root, *parts)
    if opened is None:
        return (), offset
    with opened:
        return activity_file.read_from(opened, offset, limit_bytes=_PIECE)
