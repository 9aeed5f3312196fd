"""What `prloom stats` adds up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prloom.core.reports import stats
from prloom.core.reports.stats import DayWaits, FailureCount, Spread, Stats, Throughput, TimedDecision
from prloom.model.decision import Change, Decision, DeliveryChange, Intake
from prloom.model.kinds import CHECK, State
from prloom.model.record import Position, Timestamp
from prloom.model.run import RunRecord
from prloom.model.work import TodoWork, WorkStep, WorkVerdict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(seq: int, minutes: float, stage: str = "beforeTriage", by: str = "slow", **parts: object) -> TimedDecision:
    decision = Decision(seq=seq, stage=stage, by=by, **parts)  # type: ignore[arg-type]
    return TimedDecision("pr-1", NOW + timedelta(minutes=minutes), decision)


def a_run(**about: object) -> RunRecord:
    fields = {"id": "r", "plan": "p", "stage": "triage", "agent": "codex", "status": "ok", "seconds": 1.0}
    return RunRecord(**(fields | {"started_at": Timestamp.of(NOW)} | about))  # type: ignore[arg-type]


def change(state: str, reason: str | None = None) -> Change:
    return Change(event_id="e", verdict="handled", state=state, reason=reason)  # type: ignore[arg-type]


def test_the_slowest_plugin_comes_first_with_its_percentiles_and_failures() -> None:
    times = [made(n, n, by="slow", duration_ms=n) for n in range(1, 101)]
    failed = made(200, 1, by="bad", duration_ms=5, changes=(change("deferred", "beforeTriage raised ValueError"),))
    marked = made(201, 1, by="fine", duration_ms=1, changes=(change("deferred", "people are talking"),))

    found = stats.of([failed, marked, *times], [], None)

    assert [(each.plugin, each.times.p50_ms, each.times.p95_ms, each.failures) for each in found.plugins] == [
        ("slow", 50, 95, 0),
        ("bad", 5, 5, 1),
        ("fine", 1, 1, 0),
    ]
    assert [(each.kind, each.name, each.count) for each in found.failures] == [("hook", "bad", 1)]


def test_a_plugin_has_the_runs_that_it_asked_for_also_where_none_of_its_hooks_took_time() -> None:
    runs = [a_run(plugin="ci", cost_usd=0.25), a_run(plugin="ci"), a_run(plugin="slow"), a_run(cost_usd=1.0)]

    found = stats.of([made(1, 1, duration_ms=5)], runs, None)

    assert [(each.plugin, each.times.p95_ms, each.runs, each.cost_usd) for each in found.plugins] == [
        ("slow", 5, 1, None),
        ("ci", None, 2, 0.25),
    ]


def test_a_failed_run_that_failed_an_attempt_or_a_triage_is_not_counted_once_more() -> None:
    work = TodoWork(id="t", title="one", run="w", agent="claude")
    started = WorkStep(todo_id="t", verdict="started", work=work)
    failed = Change(event_id="e", verdict="failed", state="deferred")
    decisions = [
        made(1, -5, stage="work", by="prloom", work=started),
        made(2, 1, stage="work", by="prloom", work=WorkStep(todo_id="t", verdict="failed", work=work)),
        made(3, 2, stage="triage", by="codex", changes=(failed,), run="t"),
    ]
    stages = {"w": "worker", "t": "triage", "r": "review"}
    runs = [a_run(id=run, stage=stage, status="failed") for run, stage in stages.items()]

    found = stats.of(decisions, runs, NOW)

    assert {(each.kind, each.name): each.count for each in found.failures} == {
        ("attempt", "claude"): 1,
        ("triage", "codex"): 1,
        ("run", "review"): 1,
    }


@pytest.mark.parametrize(("times", "expected"), [([], (None, None, None)), ([7], (7, 7, 7)), ([3, 1, 2], (2, 3, 3))])
def test_percentiles_are_those_of_the_nearest_rank(times: list[int], expected: tuple[int | None, ...]) -> None:
    found = stats.spread(times)

    assert (found.p50_ms, found.p95_ms, found.longest_ms) == expected


def test_a_check_of_the_operators_is_no_run_of_an_agent_but_one_that_fails_is_a_failure() -> None:
    runs = [a_run(id="a"), a_run(id="b", stage=CHECK, agent="check", status="failed")]

    found = stats.of([], runs, None)

    assert found.throughput.runs == 1
    assert [(each.kind, each.name, each.count) for each in found.failures] == [("run", CHECK, 1)]


def an_arrival(event_id: str) -> Change:
    intake = Intake(position=Position(1, 0), type="pr_comment", source="github", digest="d")
    return Change(event_id=event_id, verdict="admitted", state="pending", intake=intake)


def an_end(event_id: str, state: State) -> Change:
    return Change(event_id=event_id, verdict="handled", state=state)


def test_the_sums_since_a_time_are_those_of_what_ended_since_then_and_each_wait_counts_on_the_day_of_its_end() -> None:
    failed, done = (DeliveryChange(action_id="a", state=state, attempts=1) for state in ("failed", "delivered"))
    decisions = [
        made(1, -20, changes=(an_arrival("before"), an_arrival("e1"))),
        made(2, -10, changes=(an_end("before", "handled"),), deliveries=(done,)),
        made(3, 0, changes=(an_end("e1", "triaged"), an_arrival("e2"), an_arrival("e3"), an_arrival("e4"))),
        made(
            4, 1, by="quiet", changes=(an_end("e2", "parked"), an_end("e5", "handled")), deliveries=(failed, done, done)
        ),
        made(5, 2, changes=(an_end("e3", "dropped"),), work=WorkStep(todo_id="t", verdict="done", box="done")),
        made(6, 24 * 60, changes=(an_end("e4", "superseded"),), work=WorkStep(todo_id="t", verdict="parked")),
    ]

    found = stats.of(decisions, [a_run(), a_run(), a_run(stage=CHECK)], NOW)

    day = 24 * 60 * 60_000
    assert found == Stats(
        since=Timestamp.of(NOW),
        throughput=Throughput(
            events_in=3, handled=1, triaged=1, dropped=1, superseded=1, todos_done=1, actions_delivered=2, runs=2
        ),
        waits=Spread(count=3, p50_ms=1_200_000, p95_ms=day, longest_ms=day),
        days=(
            DayWaits(day="2026-01-01", times=Spread(count=2, p50_ms=120_000, p95_ms=1_200_000, longest_ms=1_200_000)),
            DayWaits(day="2026-01-02", times=Spread(count=1, p50_ms=day, p95_ms=day, longest_ms=day)),
        ),
        plugins=(),
        failures=(
            FailureCount(kind="delivery", name="pr-1", count=1),
            FailureCount(kind="parked", name="quiet", count=1),
            FailureCount(kind="parked", name="slow", count=1),
        ),
    )


def test_triages_and_attempts_at_todos_that_failed_are_failures_of_their_agent_whatever_their_runs_came_to() -> None:
    failed = Change(event_id="e", verdict="failed", state="deferred", reason="the answer has no list of items")
    triages = [made(seq, seq, stage="triage", by="codex", changes=(failed, failed)) for seq in (1, 2)]
    verdicts: tuple[WorkVerdict, ...] = ("failed", "violated", "rejected", "parked", "done")
    work = TodoWork(id="t-1", title="one", agent="claude")
    steps = [WorkStep(todo_id="t-1", verdict=verdict, work=work) for verdict in verdicts]
    works = [made(3 + seq, seq, stage="work", by="prloom", work=step) for seq, step in enumerate(steps)]

    found = stats.of([*triages, *works], [a_run(), a_run(stage="worker", status="failed")], None)

    assert {(each.kind, each.name): each.count for each in found.failures} == {
        ("triage", "codex"): 2,
        ("attempt", "claude"): 3,
        ("parked", "prloom"): 1,
        ("run", "worker"): 1,
    }


def test_prlooms_own_notices_do_not_count_as_events() -> None:
    intake = Intake(position=Position(0, 0), type="plan_created", source="prloom", digest="d")
    came = Change(event_id="n", verdict="admitted", state="pending", intake=intake)
    ended = made(2, 1, changes=(an_end("n", "handled"), an_end("e", "triaged")))

    found = stats.of(stats.without_own_notices([made(1, 0, changes=(came, an_arrival("e"))), ended]), [], None)

    assert (found.throughput.events_in, found.throughput.handled, found.throughput.triaged) == (1, 0, 1)
    assert found.waits.count == 1


@pytest.mark.parametrize(("count", "said"), [(1, "attempt at a TODO by claude"), (3, "attempts at a TODO by claude")])
def test_a_failure_says_what_failed_in_words(count: int, said: str) -> None:
    failure = FailureCount(kind="attempt", name="claude", count=count)

    assert f"{stats.words(failure)} {failure.name}" == said
