"""Number, write down and publish the activity events of one run, or of one plan outside of its runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.core.activity.activity_data import cleaned
from prloom.core.activity.activity_run import TOOL_CALL_START, RunParts
from prloom.core.text.secret_scan import SecretMask
from prloom.engine.activity.publisher import Publisher
from prloom.engine.bus.event_store import Clock
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.activity import ActivityDraft, ActivityEvent
from prloom.storage import activity_file
from prloom.storage.activity_file import OutputPosition, StoredActivity
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

ROTATE_AT: Final = 8 << 20
"""Bytes at which the file of a plan is closed; a run's file ends with its run."""

_MOST_UNWRITTEN: Final = 4 << 20

Placed = tuple[ActivityDraft, OutputPosition | None]


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class StreamTools:
    """What all streams of a dispatcher share: the clock, what takes secrets out, and what gets the events."""

    clock: Clock
    mask: Callable[[], SecretMask]
    publisher: Publisher


@dataclass(frozen=True)
class StreamPosition:
    """Where a stream is, as a folder below a root that is trusted, and whose it is."""

    root: Path
    parts: tuple[str, ...]
    plan_id: str | None
    run_id: str | None = None
    stage: str | None = None


class ActivityStream:
    """The one writer of an activity file: continues after the last complete line of what is there.

    A disk that cannot be written is warned of once. Subscribers get the events all the same, and what was not written
    is written with what follows. `begin` writes the start of a run that calls a tool before anybody has seen it start.
    """

    def __init__(self, place: StreamPosition, tools: StreamTools) -> None:
        self.place = place
        self._tools = tools
        self.parts = RunParts()
        self.position: OutputPosition | None = None
        self.begin: Callable[[], None] = _nothing
        self._seq = 0
        self._unwritten = b""
        self._warned = False
        self._restore()

    def add(
        self,
        draft: ActivityDraft,
        *,
        parent_id: str | None = None,
        position: OutputPosition | None = None,
        at: datetime | None = None,
    ) -> ActivityEvent:
        """Write one event, publish it, and return it; what the end of the run has closed already is not written.

        It happened `at` that time, or now.
        """
        if draft.type == TOOL_CALL_START and self.parts.start is None:
            self.begin()
        clean = ActivityDraft(type=draft.type, data=cleaned(draft.data, self._tools.mask()), call=draft.call)
        if self.parts.is_closed(clean):
            return self._event(clean, parent_id, record.unix_ms(self._tools.clock()))
        return self.add_all([(clean, position)], parent_id=parent_id, at=at)[0]

    def add_all(
        self, drafts: Sequence[Placed], *, parent_id: str | None = None, at: datetime | None = None
    ) -> tuple[ActivityEvent, ...]:
        """Write events whose data are cleaned, in one go, publish them in their order, and return them."""
        now = self._tools.clock()
        happened = record.unix_ms(min(at or now, now))  # another machine's clock may be ahead
        stored = [StoredActivity(self._numbered(draft, parent_id, happened), place) for draft, place in drafts]
        self._write(b"".join(activity_file.encode(each, record.iso(now)) for each in stored))
        for each in stored:
            if each.position is not None:
                self.position = each.position
            self._tools.publisher.publish(each.event)
        return tuple(each.event for each in stored)

    def _numbered(self, draft: ActivityDraft, parent_id: str | None, now: int) -> ActivityEvent:
        self._seq += 1
        event = self._event(self.parts.completed(draft, now), parent_id, now)
        if self.place.run_id is not None:
            self.parts.note(event)
        return event

    def _event(self, draft: ActivityDraft, parent_id: str | None, now: int) -> ActivityEvent:
        place = self.place
        return ActivityEvent(
            id=f"{place.run_id or place.plan_id or 'prloom'}:{self._seq}",
            seq=self._seq,
            type=draft.type,
            plan_id=place.plan_id,
            run_id=place.run_id,
            stage=place.stage,
            parent_id=parent_id or self.parts.parent(draft),
            timestamp=now,
            data=draft.data,
        )

    def _write(self, block: bytes) -> None:
        self._unwritten += block
        rotate_at = None
        if self.place.run_id is None:
            rotate_at = ROTATE_AT
        try:
            with self._folder() as folder:
                activity_file.append(folder, self._unwritten, rotate_at=rotate_at)
        except StorageError as error:
            if not self._warned:
                self._warned = True
                log.warning("activity is not written down: %s", error)
            if len(self._unwritten) <= _MOST_UNWRITTEN:
                return
        self._unwritten = b""

    def _folder(self) -> SafeDir:
        """Return the open folder; it is not made: one that is gone was removed."""
        found = SafeDir.open(self.place.root, *self.place.parts)
        if found is None:
            raise StorageError(f"the folder {self.place.root.joinpath(*self.place.parts)} is missing")
        return found

    def _restore(self) -> None:
        """Find out what the file holds: all of it for a run, whose parts may be open; the last event of a plan."""
        try:
            with self._folder() as folder:
                if self.place.run_id is None:
                    found = activity_file.last(folder)
                    if found is not None:
                        self._seq = found.event.seq
                    return
                for event, position in activity_file.read(folder):
                    self._seq = event.seq
                    self.parts.note(event)
                    self.position = position or self.position
        except StorageError:  # the first event that cannot be written is warned of
            return
