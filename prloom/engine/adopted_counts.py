"""Keep the last known counts of the plans that a dispatcher works on, for the case that a worktree is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from prloom.core.plans import plan_file
from prloom.engine.bus import adopted
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import StorageError
from prloom.model.plan import Adopted, Counts
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.storage.safe_dir import SafeDir

PAUSE = timedelta(seconds=10)
"""The least time between two writes of one plan's counts while a dispatcher runs."""

log = logging.getLogger(__name__)


class AdoptedCounts:
    """Keeps the last known counts of the plans that a dispatcher works on; `top` is the checkout's `prloom/.local`."""

    def __init__(self, top: SafeDir) -> None:
        self._top = top
        self._saved: dict[str, tuple[int, datetime]] = {}

    def save(self, running: Iterable[PlanRuntime], now: datetime, *, last: bool = False) -> None:
        """Save the counts of plans, if a decision has changed them; not often, unless it is the last time.

        A plan that was adopted by an earlier version, which remembered none, is remembered from then on.
        """
        for each in running:
            seq, at = self._saved.get(each.id, (None, now - PAUSE))
            is_early = not last and timedelta(0) <= now - at < PAUSE
            if not each.id or is_early or seq == each.event_store.state.seq or each.folders.local.gone():
                continue
            self._saved[each.id] = each.event_store.state.seq, now
            try:
                self._write(each, now)
            except StorageError as error:  # it is only for the case that the worktree is lost
                log.warning("plan %s: %s", each.id, error)

    def _write(self, of: PlanRuntime, now: datetime) -> None:
        found, counted = adopted.read(self._top, of.id), _counts(of.event_store.state, of.text.read())
        noted = Adopted(plan=of.plan, worktree=str(of.folders.worktree), counts=counted, counted_at=Timestamp.of(now))
        if found is None or (found.plan, found.worktree, found.counts) != (noted.plan, noted.worktree, noted.counts):
            adopted.remember(self._top, noted)


def _counts(state: DispatchState, text: str) -> Counts:
    """Return what waits in a plan, of whose `plan.md` this is the text."""
    states = [event.state for event in state.open.values()]
    queue = [action for action in state.queue.values() if not action.courtesy]
    if "[" in text:
        todos, done = plan_file.counts(text)
    else:
        todos, done = (0, 0)
    return Counts(
        pending=states.count("pending"),
        deferred=states.count("deferred"),
        held=states.count("held"),
        parked=states.count("parked"),
        actions_queued=sum(not action.failed for action in queue),
        actions_failed=sum(action.failed for action in queue),
        todos_open=todos - done,
    )
