"""The daily limits of agent runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from prloom.core.waits import brakes
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.waits.brakes import DailyLimits
from prloom.model.record import Timestamp
from prloom.model.run import RunRecord, RunUsage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def runs(count: int, *, plan: str = "a", stage: str = "worker", tokens: int | None = None, usd: float | None = None):
    usage = None if tokens is None else RunUsage(input_tokens=10, output_tokens=tokens - 10)
    return [
        RunRecord(
            id=f"{plan}-{stage}-{number}",
            plan=plan,
            stage=stage,
            agent="claude",
            status="ok",
            started_at=Timestamp.of(NOON),
            seconds=1.0,
            usage=usage,
            cost_usd=usd,
        )
        for number in range(count)
    ]


def test_below_the_limits_nothing_is_stopped() -> None:
    assert brakes.tripped(DailyLimits(), "a", runs(49), (), NOON) is None


def test_the_brake_names_itself_and_ends_with_the_day() -> None:
    now = NOON + timedelta(minutes=34, seconds=56, microseconds=789)
    limit = brakes.tripped(DailyLimits(max_runs_per_plan_per_day=2), "a", runs(2), (), now)

    assert limit == AgentWait(
        "the brake max_runs_per_plan_per_day = 2 is on: 2 runs of this plan today; `prloom resume a` lifts it",
        NOON + timedelta(hours=12),
        known=True,
        brake="max_runs_per_plan_per_day",
    )
    assert limit.since == now


@pytest.mark.parametrize(("running", "stops"), [(("b", "b"), False), (("a", "b"), True)])
def test_the_runs_of_a_plan_are_those_that_ended_and_those_that_go_on(running: tuple[str, ...], *, stops: bool) -> None:
    limit = brakes.tripped(DailyLimits(max_runs_per_plan_per_day=2), "a", runs(1), running, NOON)

    assert (limit is not None) is stops


def test_a_run_that_machines_have_refused_does_not_count() -> None:
    refused = [replace(run, refused=True) for run in runs(2)]

    assert brakes.tripped(DailyLimits(max_runs_per_plan_per_day=2, max_runs_per_day=2), "a", refused, (), NOON) is None


def test_runs_that_go_on_count_and_those_of_other_plans_count_for_all() -> None:
    limits = DailyLimits(max_runs_per_plan_per_day=3, max_runs_per_day=4)

    assert brakes.tripped(limits, "a", [*runs(1), *runs(1, plan="b")], ("a",), NOON) is None
    stopped = brakes.tripped(limits, "a", [*runs(1), *runs(2, plan="b")], ("a",), NOON)
    assert stopped is not None
    assert stopped.brake == "max_runs_per_day"
    assert "max_runs_per_day = 4 is on: 4 runs today" in stopped.reason


def test_checks_are_no_agents_runs() -> None:
    assert brakes.tripped(DailyLimits(max_runs_per_day=2), "a", runs(9, stage="check"), (), NOON) is None


@pytest.mark.parametrize(
    ("limits", "brake", "words"),
    [
        (
            DailyLimits(max_tokens_per_day=100),
            "max_tokens_per_day",
            "120 tokens, without 1 run that reported no tokens, today",
        ),
        (
            DailyLimits(max_cost_usd_per_day=0.5),
            "max_cost_usd_per_day",
            "0.60 USD, without 1 run that reported no cost, today",
        ),
    ],
)
def test_what_was_not_measured_is_told(limits: DailyLimits, brake: str, words: str) -> None:
    ended = [*runs(3, tokens=40, usd=0.2), *runs(1, plan="b")]

    limit = brakes.tripped(limits, "a", ended, (), NOON)

    assert limit is not None
    assert limit.brake == brake
    assert words in limit.reason


def test_runs_that_measured_tokens_but_no_cost_are_told_where_the_cost_is_limited() -> None:
    ended = [*runs(1, tokens=40, usd=0.6), *runs(2, plan="b", tokens=40)]

    limit = brakes.tripped(DailyLimits(max_cost_usd_per_day=0.5), "a", ended, (), NOON)

    assert limit is not None
    assert "0.60 USD, without 2 runs that reported no cost, today" in limit.reason


def test_no_limit_stops_nothing() -> None:
    off = DailyLimits(max_runs_per_plan_per_day=0, max_runs_per_day=0)

    assert brakes.tripped(off, "a", runs(500), (), NOON) is None
