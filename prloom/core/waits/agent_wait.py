"""Decide how long an agent program is not run that cannot be used now, and let events wait for it.

It has met a usage limit, it is not signed in, or it does not start. None of that is the fault of a text or of a
worker, so it counts as no attempt; and it concerns every run of the program, so that all plans wait together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core.waits import deferral
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.kinds import TRIAGE, Verdict
from prloom.model.run import RunRecord, UnusableAgent, UnusableCause
from prloom.model.state import DispatchState, OpenEvent

UNKNOWN = timedelta(hours=1)
"""The time until the next try where the program does not say when its limit is reset (a daily quota, as a rule)."""

TRIALS: Final = Backoff(initial=timedelta(seconds=30), maximum=timedelta(minutes=10))
"""When a program that is not signed in, or does not start, is tried again, with one run for all plans."""


@dataclass(frozen=True)
class AgentWait:
    """Why a program is not run, and when it is tried again; `known` says that the reason is gone by then.

    `since` is when that was found: by a clock that was turned back meanwhile, `until` may be years away. `unusable`
    says what is wrong with the program; None for a limit of the operator's own, whose key in `[limits]` is `brake`.
    `tries` counts the runs in a row that found it.
    """

    reason: str
    until: datetime
    known: bool
    since: datetime | None = field(default=None, compare=False)
    brake: str | None = None
    unusable: UnusableAgent | None = None
    tries: int = 1

    @property
    def cause(self) -> UnusableCause | None:
        """What is wrong with the program; None for a limit of the operator's own."""
        if self.unusable is None:
            return None
        return self.unusable.cause


def limited(agent: str, reason: str, resets_at: datetime | None, now: datetime) -> AgentWait:
    """Return the wait for the usage limit that a run has met; `resets_at` is None where the program does not say."""
    unusable = UnusableAgent(agent=agent, cause="usage_limit")
    if resets_at is None:
        return AgentWait(reason, now + UNKNOWN, known=False, since=now, unusable=unusable)
    return AgentWait(reason, max(resets_at, now), known=True, since=now, unusable=unusable)


def until_it_works(unusable: UnusableAgent, reason: str, now: datetime, tries: int) -> AgentWait:
    """Return the wait of a program that is not signed in or does not start, which `tries` in a row have found."""
    until = next_try(unusable.agent, tries, now)
    return AgentWait(reason, until, known=False, since=now, unusable=unusable, tries=tries)


def next_try(agent: str, tries: int, now: datetime) -> datetime:
    """Return when a program is tried again that could not be used in so many tries: the waits grow."""
    return now + backoff.delay(TRIALS, tries, agent)


def of_latest(runs: Iterable[RunRecord]) -> dict[str, AgentWait]:
    """Return the limits that programs have met by these ended runs, by program; a run that went well lifts one.

    Whether a program can be started and is signed in, the next run shows.
    """
    waits: dict[str, AgentWait] = {}
    for run in sorted(runs, key=_ended_at):
        if run.status == "limited":
            reason = reason_of(run.agent, run.error, run.id)
            waits[run.agent] = limited(run.agent, reason, run.retry_at, _ended_at(run))
        elif run.status == "ok":
            waits.pop(run.agent, None)
    return waits


def reason_of(agent: str, error: str | None, run_id: str) -> str:
    """Return why a program is not run: what the run said that found that."""
    return f"{agent}: {error} (run {run_id})"


def _ended_at(run: RunRecord) -> datetime:
    return run.ended_at or run.started_at


def applies(wait: AgentWait, events: Iterable[OpenEvent], now: datetime) -> bool:
    """Whether the program is not run on these events: it is where a person requested a retry."""
    if wait.since is not None and record.rolled_back_by(wait.since, now):
        return False  # what is left of the wait is not known; the next run finds out
    return now < wait.until and not any(_was_retried(event, now) for event in events)


def _was_retried(event: OpenEvent, now: datetime) -> bool:
    """Whether the event is looked at although its wait is not over, which only a request to retry brings about."""
    wait = event.deferral
    return wait is not None and wait.owner == TRIAGE and wait.deferred_until > now


def wait_for(event: OpenEvent, wait: AgentWait, *, now: datetime, policy: Backoff) -> Change:
    """Return the event's wait for the program: no attempt is counted, and the event's own deadline stays as it is."""
    verdict: Verdict = "limited"
    reason = wait.reason
    if not wait.known and wait.cause == "usage_limit":
        verdict = "quota"
        reason = f"{wait.reason}; the program does not say when the limit is reset, so prloom tries again in an hour"
    waiting = deferral.defer(
        event, TRIAGE, reason, now=now, policy=policy, retry_after=max(wait.until, now) - now, counted=False
    )
    waiting = replace(waiting, agent=wait.unusable)
    return Change(event_id=event.id, verdict=verdict, state="deferred", reason=reason, deferral=waiting)


def waiting(state: DispatchState, agents: Collection[str] | None = None) -> tuple[OpenEvent, ...]:
    """Return the events that wait for an agent program: for one of these, or for any."""
    return tuple(
        event
        for event in state.open.values()
        if event.state == "deferred" and event.deferral is not None and is_one_of(event.deferral.agent, agents)
    )


def is_one_of(unusable: UnusableAgent | None, agents: Collection[str] | None) -> bool:
    """Whether something waits for an agent program: for one of these, or for any where they are not named."""
    return unusable is not None and (agents is None or unusable.agent in agents)
