"""Decide when a daemon is checked, restarted or given up, from what has happened to it. Times are monotonic seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

DaemonState = Literal["starting", "running", "stopping", "stopped", "error"]

RESTART_DELAYS = (5.0, 10.0, 15.0)
"""Seconds between a crash and the next attempt to start, one for each attempt; after the last one, no more follow."""

HEALTHY_AFTER = 60.0
"""Seconds of health after which earlier crashes no longer count."""


@dataclass(frozen=True)
class HealthRules:
    """How often a daemon is asked whether it is healthy, how long it has for the answer, and how often it may fail."""

    interval: float = 30.0
    timeout: float = 5.0
    retries: int = 3


@dataclass(frozen=True)
class DaemonLife:
    """What counts of a daemon's past.

    `attempts` counts the restarts since it was last healthy for a while, `restarts` all of them. `next_attempt` is
    when it is started again; in the state `error` without one, prloom has given it up. `healthy_since` is when its
    present health began, and `started` says whether it was ever attempted to start it. `problem` is what the daemon,
    which runs, says does not work, and `problem_since` when it said so first.
    """

    state: DaemonState = "stopped"
    since: float = 0.0
    reason: str | None = None
    started: bool = False
    attempts: int = 0
    restarts: int = 0
    next_attempt: float | None = None
    next_check: float | None = None
    health_failures: int = 0
    healthy_since: float | None = None
    problem: str | None = None
    problem_since: float | None = None


def starting(life: DaemonLife, now: float) -> DaemonLife:
    """Return the life of a daemon whose process is started; after a crash, this is one of its restarts."""
    again = life.state == "error"
    return replace(
        life,
        state="starting",
        since=now,
        started=True,
        attempts=life.attempts + again,
        restarts=life.restarts + again,
        next_attempt=None,
        next_check=None,
        health_failures=0,
        healthy_since=None,
    )


def ready(life: DaemonLife, now: float, rules: HealthRules) -> DaemonLife:
    """Return the life of a daemon that has given its first answer."""
    return replace(life, state="running", since=now, reason=None, healthy_since=now, next_check=now + rules.interval)


def checked(life: DaemonLife, now: float, rules: HealthRules, *, healthy: bool) -> DaemonLife:
    """Return the life of a running daemon after a health check."""
    life = _past_forgotten(life, now)
    if not healthy:
        return replace(
            life, health_failures=life.health_failures + 1, healthy_since=None, next_check=now + rules.interval
        )
    since = life.healthy_since
    if since is None:
        since = now
    return replace(life, health_failures=0, healthy_since=since, next_check=now + rules.interval)


def with_problem(life: DaemonLife, now: float, problem: str | None) -> DaemonLife:
    """Return the life of a running daemon that has said what does not work; None where all of it does."""
    since = life.problem_since
    if problem is None:
        since = None
    elif since is None:
        since = now
    return replace(life, problem=problem, problem_since=since)


def is_unhealthy(life: DaemonLife, rules: HealthRules) -> bool:
    """Whether so many health checks have failed in a row that the daemon is to be restarted."""
    return life.health_failures >= rules.retries


def until_check(life: DaemonLife, now: float) -> float:
    """Return how many seconds it is until the next health check of a running daemon."""
    return max((life.next_check or 0) - now, 0)


def crashed(life: DaemonLife, now: float, reason: str) -> DaemonLife:
    """Return the life of a daemon that ended by itself, did not start, or was ended because it was not healthy.

    It is started again after a while, but only so many times unless it was healthy in between.
    """
    life = _past_forgotten(life, now)
    next_attempt = None
    if life.attempts < len(RESTART_DELAYS):
        next_attempt = now + RESTART_DELAYS[life.attempts]
    return replace(
        life,
        state="error",
        since=now,
        reason=reason,
        next_attempt=next_attempt,
        next_check=None,
        healthy_since=None,
        problem=None,
        problem_since=None,
    )


def refused(life: DaemonLife, now: float, reason: str) -> DaemonLife:
    """Return the life of a daemon that cannot be started until somebody changes something: trying again is no use."""
    return replace(life, state="error", since=now, reason=reason, started=False, next_attempt=None, next_check=None)


def stopping(life: DaemonLife, now: float) -> DaemonLife:
    """Return the life of a daemon that is being stopped because an operator, or the end of prloom, wants it."""
    past = replace(life, next_attempt=None, next_check=None, problem=None, problem_since=None)
    return replace(past, state="stopping", since=now)


def stopped(life: DaemonLife, now: float) -> DaemonLife:
    """Return the life of a daemon that was stopped; its past no longer counts."""
    return DaemonLife(state="stopped", since=now, started=life.started, restarts=life.restarts)


def _past_forgotten(life: DaemonLife, now: float) -> DaemonLife:
    """Return the life without its earlier crashes if the daemon has been healthy for long enough."""
    if life.healthy_since is not None and now - life.healthy_since >= HEALTHY_AFTER:
        return replace(life, attempts=0)
    return life


def is_due(life: DaemonLife, now: float) -> bool:
    """Whether a daemon that is wanted is to be started now."""
    if life.state == "error":
        return life.next_attempt is not None and life.next_attempt <= now
    return True


def next_time(life: DaemonLife) -> float | None:
    """Return when something is due: the next attempt to start the daemon, or its next health check."""
    if life.state == "error":
        return life.next_attempt
    return life.next_check
