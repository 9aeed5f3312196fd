"""Put off review feedback while checks run: an agent then sees the feedback and the failures together.

Whether checks run is what the source says: an event may carry `context.checks`, and `checks_changed` events carry
nothing else (docs/writing-a-plugin.md has the convention). Where nothing is said, nothing waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from prloom.api import Duration, Event, HookContext, PluginContext, TriageContext, iso, moment

from . import report
from .report import Report

TRY_INTERVAL = timedelta(seconds=30)
"""Waiting feedback is tried at multiples of this, so that all of it goes on together."""

_SHORTEST = timedelta(seconds=1)
_EPOCH = datetime.fromtimestamp(0, UTC)
_REMEMBERED = 500  # events that have waited, so that none waits twice


class Config(BaseModel):
    """Without `at_most`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    at_most: Duration | None = None
    types: tuple[str, ...] = ("pr_comment", "pr_review", "pr_review_comment", "review_feedback")


def register(ctx: PluginContext) -> None:
    """Register to record the state of the checks, and to put off feedback."""
    if ctx.config.at_most is None:
        return
    gate = FeedbackGate(ctx.config.at_most, ctx.config.types)
    ctx.register_hook("onEvent", gate.record)
    ctx.register_hook("beforeTriage", gate.defer)


class FeedbackGate:
    """Keeps in the plan's state the state of the checks (`checks`), and since when each event waits (`since`)."""

    def __init__(self, at_most: timedelta, types: Collection[str]) -> None:
        self._at_most = at_most
        self._types = frozenset(types)

    def record(self, event: Event, hook: HookContext) -> None:
        """Record the state of the checks; of two reports that say when they were made, the later one counts."""
        new = report.read(event)
        if new is None:
            return
        before = hook.get_state("checks")
        if before is None or not new.at or new.at >= before["at"]:
            hook.set_state("checks", asdict(replace(new, heard=iso(hook.now))))

    def defer(self, plan: str, triage: TriageContext) -> None:
        """Put off feedback while checks run, but each event not longer than it may wait."""
        for event in triage.events:
            if event.type == report.REPORT:
                triage.mark_event_handled(event.id, "the state of the checks was recorded")
        feedback = [event for event in triage.events if event.type in self._types and event.type != report.REPORT]
        stored = triage.get_state("checks")
        if not feedback or stored is None:
            return
        checks = Report(**stored)
        # A source that fell silent must not delay what comes later: a report is valid as long as feedback may wait.
        if checks.running and moment(checks.heard) + self._at_most > triage.now:
            self._defer(feedback, checks, triage)

    def _defer(self, feedback: Sequence[Event], checks: Report, triage: TriageContext) -> None:
        before = triage.get_state("since") or {}
        since = dict(before)
        for event in feedback:
            until = moment(since.setdefault(event.id, iso(triage.now))) + self._at_most
            if until > triage.now:
                wait = (_next_try(triage.now) - triage.now) // timedelta(milliseconds=1)
                triage.mark_event_deferred(event.id, str(checks), wait, until=until, on_expire="pass")
        if since != before:
            triage.set_state("since", dict(list(since.items())[-_REMEMBERED:]))


def _next_try(now: datetime) -> datetime:
    """Return the next moment at which all waiting feedback is tried; it is a second away at least."""
    tries = -((_EPOCH - now - _SHORTEST) // TRY_INTERVAL)  # divided downwards, below zero: upwards
    return _EPOCH + tries * TRY_INTERVAL
