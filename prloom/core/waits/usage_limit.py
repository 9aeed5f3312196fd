"""Decide how long an agent program that has met a usage limit is not run, and let events wait for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from prloom.backoff import Backoff
from prloom.core.waits import deferral
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.kinds import TRIAGE, Verdict
from prloom.model.run import RunRecord
from prloom.model.state import OpenEvent

UNKNOWN = timedelta(hours=1)
"""The time until the next try where the program does not say when its limit is reset (a daily quota, as a rule)."""


@dataclass(frozen=True)
class UsageLimit:
    """A usage limit that a program has met: why, and when it is tried again; `known` says that it is reset by then.

    `since` is when it was met: by a clock that was turned back meanwhile, `until` may be years away. A `brake` is a
    limit of the operator's own, by its key in `[limits]`.
    """

    reason: str
    until: datetime
    known: bool
    since: datetime | None = field(default=None, compare=False)
    brake: str | None = None


def met(reason: str, resets_at: datetime | None, now: datetime) -> UsageLimit:
    """Return the limit that a run has met; `resets_at` is None where the program does not say."""
    if resets_at is None:
        return UsageLimit(reason, now + UNKNOWN, known=False, since=now)
    return UsageLimit(reason, max(resets_at, now), known=True, since=now)


def of_latest(runs: Iterable[RunRecord]) -> dict[str, UsageLimit]:
    """Return the limits that programs have met by these ended runs, by program; a run that went well lifts one."""
    limits: dict[str, UsageLimit] = {}
    for run in sorted(runs, key=_ended_at):
        if run.status == "limited":
            limits[run.agent] = met(reason_of(run.agent, run.error, run.id), run.retry_at, _ended_at(run))
        elif run.status == "ok":
            limits.pop(run.agent, None)
    return limits


def reason_of(agent: str, error: str | None, run_id: str) -> str:
    """Return why a program is not run: what the run said that has met its limit."""
    return f"{agent}: {error} (run {run_id})"


def _ended_at(run: RunRecord) -> datetime:
    return run.ended_at or run.started_at


def applies(limit: UsageLimit, events: Iterable[OpenEvent], now: datetime) -> bool:
    """Whether the limit keeps the program from being run on these events: not where a person requested a retry."""
    if limit.since is not None and record.rolled_back_by(limit.since, now):
        return False  # what is left of the wait is not known; the next run finds out
    return now < limit.until and not any(_was_retried(event, now) for event in events)


def _was_retried(event: OpenEvent, now: datetime) -> bool:
    """Whether the event is looked at although its wait is not over, which only a request to retry brings about."""
    wait = event.deferral
    return wait is not None and wait.owner == TRIAGE and wait.deferred_until > now


def wait_for(event: OpenEvent, limit: UsageLimit, *, now: datetime, policy: Backoff) -> Change:
    """Return the event's wait for the limit: no attempt is counted, and the event's own deadline stays as it is."""
    verdict: Verdict = "limited"
    reason = limit.reason
    if not limit.known:
        verdict = "quota"
        reason = f"{limit.reason}; the program does not say when the limit is reset, so prloom tries again in an hour"
    waiting = deferral.defer(
        event, TRIAGE, reason, now=now, policy=policy, retry_after=max(limit.until, now) - now, counted=False
    )
    return Change(event_id=event.id, verdict=verdict, state="deferred", reason=reason, deferral=waiting)
