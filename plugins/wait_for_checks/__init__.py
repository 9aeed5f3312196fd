"""Put off review feedback while checks run: an agent then sees the feedback and the failures together.

Whether checks run is what the source says: an event may carry `context.checks`, and `checks_changed` events carry
nothing else (docs/writing-a-plugin.md has the convention). Where nothing is said, nothing waits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from pydantic import BaseModel, ConfigDict

from prloom.api import (
    CHECKS_CHANGED,
    SPEECH,
    Duration,
    Event,
    HookContext,
    Json,
    PluginContext,
    TriageContext,
    iso,
    moment,
)

_REMEMBERED = 500  # events that have waited, so that none waits twice


class Config(BaseModel):
    """Without `at_most`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    at_most: Duration | None = None
    types: tuple[str, ...] = SPEECH


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
        new = read_report(event)
        if new is None:
            return
        before = hook.get_state("checks")
        if before is None or not new.at or new.at >= before["at"]:
            hook.set_state("checks", asdict(replace(new, heard=iso(hook.now))))
            if event.type != CHECKS_CHANGED:
                for waiting in hook.get_state("since") or {}:
                    hook.wake(waiting)

    def defer(self, plan: str, triage: TriageContext) -> None:
        """Put off feedback while checks run, but each event not longer than it may wait."""
        for event in triage.events:
            if event.type == CHECKS_CHANGED:
                triage.mark_event_handled(event.id, "the state of the checks was recorded")
        feedback = [event for event in triage.events if event.type in self._types and event.type != CHECKS_CHANGED]
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
                report = {"types": [CHECKS_CHANGED]}
                triage.mark_event_deferred(event.id, str(checks), until=until, on_expire="pass", wake_on=report)
        if since != before:
            triage.set_state("since", dict(list(since.items())[-_REMEMBERED:]))


_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHOWN = 12  # digits of a commit
_MOST = 10_000  # checks; more is a mistake


@dataclass(frozen=True)
class Report:
    """How many checks run, of which commit, when the source looked, and when prloom received the report."""

    running: int
    commit: str = ""
    at: str = ""
    heard: str = ""

    def __str__(self) -> str:
        """Return it as a reason for people."""
        text = f"{self.running} checks are running"
        if self.running == 1:
            text = "1 check is running"
        if self.commit:
            text += f" on {self.commit[:_SHOWN]}"
        return text


def read_report(event: Event) -> Report | None:
    """Return what the event says, or None where it says nothing that can be understood."""
    checks = event.context.get("checks")
    running = None
    if isinstance(checks, Mapping):
        running = checks.get("running")
    if not isinstance(running, int) or isinstance(running, bool) or not 0 <= running <= _MOST:
        return None
    return Report(running, _commit(checks), _at(checks))


def _commit(checks: Json) -> str:
    commit = checks.get("commit")
    if isinstance(commit, str) and _COMMIT.fullmatch(commit):
        return commit
    return ""


def _at(checks: Json) -> str:
    at = checks.get("at")
    if not isinstance(at, str):
        return ""
    try:
        return iso(moment(at))
    except (ValueError, OverflowError):
        return ""
