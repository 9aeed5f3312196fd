"""Decide when a plugin that keeps failing, or an agent program at its usage limit, is not run, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core import deferral, triage
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.kinds import Verdict
from prloom.model.state import OpenEvent

THRESHOLD = 5
"""Failures in a row after which a plugin is switched off."""

COOL_DOWN = Backoff(initial=timedelta(minutes=1), maximum=timedelta(hours=1))
"""How long it stays off: longer each time that its one trial call fails."""


@dataclass(frozen=True)
class Breaker:
    """A plugin's failures in a row, the last one's reason, and until when it is switched off.

    `only` is the event of all of these failures, or None where there were several. Then it may be the fault of that
    event, so the plugin is switched off for it alone, and an event that others wrote does not wait for it.
    """

    failures: int = 0
    reason: str | None = None
    off_until: datetime | None = None
    only: str | None = None


def off(breaker: Breaker, now: datetime, event: str) -> bool:
    """Whether the plugin is switched off now for an event; when that is over, one call is let through as a trial."""
    return _is_off(breaker, now) and breaker.only in {None, event}


def failed(breaker: Breaker, reason: str, *, event: str, key: str, now: datetime) -> Breaker:
    """Return the breaker after one more failure.

    Calls that were under way when the plugin was switched off are not trials: their failures prolong nothing. But if
    the plugin fails on a second event too, it is switched off for all.
    """
    if breaker.only == event or not breaker.failures:
        only = event
    else:
        only = None
    if _is_off(breaker, now):
        return replace(breaker, only=only)
    failures = breaker.failures + 1
    if failures < THRESHOLD:
        return Breaker(failures, reason, only=only)
    return Breaker(failures, reason, now + backoff.delay(COOL_DOWN, failures - THRESHOLD + 1, key), only)


def _is_off(breaker: Breaker, now: datetime) -> bool:
    return breaker.off_until is not None and now < breaker.off_until


UNKNOWN_LIMIT = timedelta(hours=1)
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


def limit_met(reason: str, resets_at: datetime | None, now: datetime) -> UsageLimit:
    """Return the limit that a run has met; `resets_at` is None where the program does not say."""
    if resets_at is None:
        return UsageLimit(reason, now + UNKNOWN_LIMIT, known=False, since=now)
    return UsageLimit(reason, max(resets_at, now), known=True, since=now)


def limit_applies(limit: UsageLimit, events: Iterable[OpenEvent], now: datetime) -> bool:
    """Whether the limit keeps the program from being run on these events: not where a person requested a retry."""
    if limit.since is not None and record.rolled_back_by(limit.since, now):
        return False  # what is left of the wait is not known; the next run finds out
    return now < limit.until and not any(_was_retried(event, now) for event in events)


def _was_retried(event: OpenEvent, now: datetime) -> bool:
    """Whether the event is looked at although its wait is not over, which only a request to retry brings about."""
    wait = event.deferral
    return wait is not None and wait.owner == triage.OWNER and wait.deferred_until > now


def wait_for_limit(event: OpenEvent, limit: UsageLimit, *, now: datetime, policy: Backoff) -> Change:
    """Return the event's wait for the limit: no attempt is counted, and the event's own deadline stays as it is."""
    verdict: Verdict = "limited"
    reason = limit.reason
    if not limit.known:
        verdict = "quota"
        reason = f"{limit.reason}; the program does not say when the limit is reset, so prloom tries again in an hour"
    waiting = deferral.defer(
        event, triage.OWNER, reason, now=now, policy=policy, retry_after=max(limit.until, now) - now, counted=False
    )
    return Change(event_id=event.id, verdict=verdict, state="deferred", reason=reason, deferral=waiting)
