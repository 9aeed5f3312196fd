"""Hear how the checks of a plan stand, and hold feedback while they run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

from prloom.api import Event, HookContext, TriageContext, iso, moment

from . import report
from .report import Report

LOOK_AGAIN = timedelta(seconds=30)
"""Feedback that waits is looked at at multiples of this, so that all that waits goes on together."""

_SHORTEST = timedelta(seconds=1)
_EPOCH = datetime.fromtimestamp(0, UTC)
_REMEMBERED = 500  # events that have waited, so that none waits twice


class Gate:
    """Keeps in the plan's state how the checks stand (`checks`), and since when each event waits (`since`)."""

    def __init__(self, at_most: timedelta, types: Collection[str]) -> None:
        self._at_most = at_most
        self._types = frozenset(types)

    def hear(self, event: Event, hook: HookContext) -> None:
        """Take note of how the checks stand; of two reports that say when they were made, the later one holds."""
        new = report.read(event)
        if new is None:
            return
        before = hook.get_state("checks")
        if before is None or not new.at or new.at >= before["at"]:
            hook.set_state("checks", asdict(replace(new, heard=iso(hook.now))))

    def hold(self, plan: str, triage: TriageContext) -> None:
        """Put off feedback while checks run, but each event not longer than it may wait."""
        for event in triage.events:
            if event.type == report.REPORT:
                triage.mark_event_handled(event.id, "the state of the checks was recorded")
        feedback = [event for event in triage.events if event.type in self._types and event.type != report.REPORT]
        stored = None
        if feedback:
            stored = triage.get_state("checks")
        if stored is not None:
            checks = Report(**stored)
        else:
            checks = Report(0)
        # A source that fell silent must not hold up what comes later: a report holds as long as feedback may wait.
        if checks.running and moment(checks.heard) + self._at_most > triage.now:
            self._put_off(feedback, checks, triage)

    def _put_off(self, feedback: Sequence[Event], checks: Report, triage: TriageContext) -> None:
        before = triage.get_state("since") or {}
        since = dict(before)
        for event in feedback:
            until = moment(since.setdefault(event.id, iso(triage.now))) + self._at_most
            if until > triage.now:
                wait = (_next_look(triage.now) - triage.now) // timedelta(milliseconds=1)
                triage.mark_event_deferred(event.id, str(checks), wait, until=until, on_expire="pass")
        if since != before:
            triage.set_state("since", dict(list(since.items())[-_REMEMBERED:]))


def _next_look(now: datetime) -> datetime:
    """Return the next moment at which everything that waits is looked at; it is a second away at least."""
    looks = -((_EPOCH - now - _SHORTEST) // LOOK_AGAIN)  # divided downwards, below zero: upwards
    return _EPOCH + looks * LOOK_AGAIN
