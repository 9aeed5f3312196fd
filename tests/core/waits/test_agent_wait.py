from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from plan_states import a_deferral, an_open_event

from prloom.backoff import Backoff
from prloom.core.waits import agent_wait
from prloom.core.waits.agent_wait import AgentWait
from prloom.model.decision import Change
from prloom.model.record import Timestamp
from prloom.model.run import RunRecord, RunState, UnusableAgent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
USED_UP = UnusableAgent(agent="claude", cause="usage_limit")
LIMIT = AgentWait("limit reached", NOW + 5 * HOUR, known=True, unusable=USED_UP)


def test_a_limit_lasts_as_long_as_the_program_says() -> None:
    assert agent_wait.limited("claude", "limit reached", NOW + 5 * HOUR, NOW) == LIMIT


def test_a_limit_of_which_the_end_is_not_known_is_tried_again_in_an_hour() -> None:
    assert agent_wait.limited("claude", "limit", None, NOW) == AgentWait(
        "limit", NOW + HOUR, known=False, unusable=USED_UP
    )


def test_a_wait_for_a_limit_is_no_attempt() -> None:
    event = an_open_event(deferral=a_deferral("triage", attempts=2), first_deferred_at=Timestamp.of(NOW), failures=2)

    change = agent_wait.wait_for(event, LIMIT, now=NOW, policy=Backoff(max_attempts=1))

    assert change.deferral is not None
    assert change == Change(
        event_id="e1", verdict="limited", state="deferred", reason="limit reached", deferral=change.deferral
    )
    assert change.deferral.reason == "limit reached"
    assert (change.deferral.attempts, change.deferral.deferred_until) == (2, Timestamp.of(NOW + 5 * HOUR))


def test_a_wait_for_a_limit_of_which_the_end_is_not_known_has_a_name_a_next_try_and_a_deadline() -> None:
    limit = agent_wait.limited("gemini", "gemini: You have exhausted your daily quota.", None, NOW)

    change = agent_wait.wait_for(an_open_event(), limit, now=NOW, policy=Backoff())

    assert (change.verdict, change.state, change.alone) == ("quota", "deferred", False)
    assert change.deferral is not None
    assert (change.deferral.attempts, change.deferral.on_expire) == (0, "park")
    assert (change.deferral.deferred_until, change.deferral.deadline) == (
        Timestamp.of(NOW + HOUR),
        Timestamp.of(NOW + 7 * DAY),
    )
    assert "does not say when the limit is reset, so prloom tries again in an hour" in change.deferral.reason


@pytest.mark.parametrize(
    ("until", "due"), [(NOW - HOUR, NOW + SECOND), (NOW, NOW + SECOND), (NOW + 30 * DAY, NOW + 7 * DAY)]
)
def test_an_end_that_makes_no_sense_is_bounded(until: datetime, due: datetime) -> None:
    limit = agent_wait.limited("claude", "limit", until, NOW)

    change = agent_wait.wait_for(an_open_event(), limit, now=NOW, policy=Backoff())

    assert change.deferral is not None
    assert change.deferral.deferred_until == (due)


def test_a_limit_keeps_the_program_from_being_run_until_its_end() -> None:
    events = (an_open_event(), an_open_event("e2"))

    assert agent_wait.applies(LIMIT, events, NOW)
    assert not agent_wait.applies(LIMIT, events, NOW + 5 * HOUR)


@pytest.mark.parametrize(("owner", "until", "held"), [("triage", 1, False), ("triage", -1, True), ("quiet", 1, True)])
def test_an_event_that_somebody_wants_to_be_retried_does_not_wait_for_the_limit(
    owner: str, until: int, *, held: bool
) -> None:
    waited = a_deferral(owner, deferred_until=Timestamp.of(NOW + until * HOUR))

    assert agent_wait.applies(LIMIT, (an_open_event(), an_open_event("e2", deferral=waited)), NOW) == held


@pytest.mark.parametrize("resets_at", [NOW + 400 * DAY, None])
def test_a_limit_that_was_met_by_a_clock_that_was_ahead_does_not_hold_once_the_clock_is_set_right(
    resets_at: datetime | None,
) -> None:
    limit = agent_wait.limited("claude", "limit reached", resets_at, NOW + 399 * DAY)

    assert agent_wait.applies(limit, (), NOW + 399 * DAY)
    assert not agent_wait.applies(limit, (), NOW)


def ended(agent: str, status: RunState, minutes: int, retry_at: datetime | None = None) -> RunRecord:
    at = Timestamp.of(NOW + timedelta(minutes=minutes))
    until = None
    if retry_at is not None:
        until = Timestamp.of(retry_at)
    return RunRecord(
        id=f"run-{minutes}",
        plan="pr-7",
        stage="triage",
        agent=agent,
        status=status,
        started_at=Timestamp.of(NOW - timedelta(minutes=minutes)),
        ended_at=at,
        seconds=0,
        error="the limit is reached",
        retry_at=until,
    )


def test_the_latest_runs_of_each_program_tell_which_limits_it_has_met():
    reset = NOW + timedelta(hours=3)
    runs = (
        ended("gemini", "ok", 9),
        ended("codex", "limited", 8),
        ended("claude", "failed", 7),
        ended("claude", "limited", 6, reset),
        ended("gemini", "limited", 5, reset),
        ended("opencode", "ok", 4),
    )

    limits = agent_wait.of_latest(runs)

    assert {name: (limit.until, limit.known) for name, limit in limits.items()} == {
        "claude": (reset, True),
        "codex": (NOW + timedelta(minutes=8) + agent_wait.UNKNOWN, False),
    }
    assert limits["claude"].reason == "claude: the limit is reached (run run-6)"
