"""A decision in one line of the log."""

from __future__ import annotations

from datetime import UTC

import pytest

from prloom.core.reports import decision_line
from prloom.model.action import Action, Comment
from prloom.model.decision import (
    Change,
    Decision,
    DecisionParts,
    Deferral,
    DeliveryChange,
    PlanText,
    StateWrite,
    Todo,
)
from prloom.model.event import Target
from prloom.model.pull_request import KeptPullRequest, OpenedPullRequest
from prloom.model.record import Timestamp
from prloom.model.work import Block, CiFixes, Kept, WorkStep

UNTIL = Timestamp(2026, 1, 1, 12, 1, tzinfo=UTC)
WAIT = Deferral(
    owner="quiet",
    reason="not now",
    first_deferred_at=UNTIL,
    attempts=1,
    deferred_until=UNTIL,
    deadline=UNTIL,
    on_expire="park",
)


SILENT = {"courtesies", "drafts", "cursor", "fingerprint", "rereading"}
"""What says how actions are sent, or how far prloom has read: no news to a person."""
SAID = DecisionParts(
    changes=(Change(event_id="e-1", verdict="admitted", state="pending"),),
    actions=(Action(id="a-1", target=Target("forge"), payload=Comment("hi")),),
    writes=(StateWrite(plugin="quiet", scope="plan", version=1),),
    todos=(Todo(id="t-1", title="Fix it"),),
    todos_done=("t-1",),
    todos_dropped=("t-1",),
    deliveries=(DeliveryChange(action_id="a-1", state="delivered", attempts=1),),
    plan=PlanText(base="0" * 64, text="# Plan"),
    run="r-1",
    duration_ms=12,
    note="as asked",
    paused=True,
    plan_status="merged",
    rebase_requested=True,
    work=WorkStep(todo_id="t-1", verdict="taken"),
    block=Block(reason="a check is missing", since=UNTIL, way_on="prloom resume pr-7"),
    unblocked=True,
    pull_request=KeptPullRequest(opened=True),
    opened=OpenedPullRequest(number=7, forge="github", url="https://github.test/pull/7"),
    kept=Kept(reason="a commit is not pushed"),
    ci_fixes=CiFixes(count=1),
)


def line(stage: str, by: str, plan_id: str = "pr-7", **parts: object) -> str:
    return decision_line.line(plan_id, Decision(seq=1, stage=stage, by=by, **parts))  # type: ignore[arg-type]


def admitted(event_id: str) -> Change:
    return Change(event_id=event_id, verdict="admitted", state="pending")


def test_events_that_went_the_same_way_are_named_together() -> None:
    held = Change(event_id="c", verdict="held", state="held", reason="eve is a stranger")

    assert line("intake", "prloom", changes=(admitted("a"), admitted("b"), held)) == (
        "plan pr-7: intake by prloom: admitted a, b; held c (eve is a stranger)"
    )


def test_a_wait_says_until_when_and_a_hook_how_long_it_took() -> None:
    change = Change(event_id="a", verdict="deferred", state="deferred", reason="not now", deferral=WAIT)
    write = StateWrite(plugin="quiet", scope="plan", version=1)

    assert line("beforeTriage", "quiet", changes=(change,), writes=(write,), duration_ms=12) == (
        "plan pr-7: beforeTriage by quiet: deferred a until 2026-01-01T12:01:00.000Z (not now); "
        "state of quiet written; 12 ms"
    )


def test_a_run_names_its_actions_and_todos() -> None:
    changes = (Change(event_id="a", verdict="todo", state="triaged"),)
    action = Action(id="a-1", target=Target("forge"), payload=Comment("hi"))

    told = line(
        "triage", "claude", changes=changes, actions=(action,), todos=(Todo(id="t-1", title="Fix it"),), run="r-1"
    )

    assert told == "plan pr-7: triage by claude: todo a; queued a-1; added TODO t-1: Fix it; run r-1"


@pytest.mark.parametrize(
    ("delivery", "expected"),
    [
        (
            DeliveryChange(action_id="a-1", state="delivered", attempts=1, url="https://f/1"),
            "delivered a-1 https://f/1",
        ),
        (
            DeliveryChange(action_id="a-1", state="retrying", attempts=1, error="busy", next_try=UNTIL),
            "retrying a-1, next try 2026-01-01T12:01:00.000Z (busy)",
        ),
        (DeliveryChange(action_id="a-1", state="failed", attempts=1, error="locked"), "failed a-1 (locked)"),
    ],
)
def test_a_delivery_names_its_action_and_its_outcome(delivery: DeliveryChange, expected: str) -> None:
    assert line("deliver", "github", deliveries=(delivery,)) == f"plan pr-7: deliver by github: {expected}"


def test_actions_that_went_the_same_way_are_named_together() -> None:
    told = line(
        "deliver",
        "local",
        deliveries=tuple(
            DeliveryChange(action_id=f"a-{number}", state="delivered", attempts=1) for number in range(100)
        ),
    )

    assert told.startswith("plan pr-7: deliver by local: delivered a-0, a-1, a-2,")
    assert told.endswith(", a-19 and 80 more")


def test_of_many_reasons_some_are_told_and_the_rest_is_counted() -> None:
    changes = [Change(event_id=f"e{n}", verdict="held", state="held", reason=f"reason {n}") for n in range(25)]

    told = line("intake", "prloom", changes=tuple(changes))

    assert told.endswith("held e18 (reason 18); held e19 (reason 19); and 5 more")


def test_a_command_of_the_operator_names_its_request() -> None:
    told = line("operator", "operator", paused=True, note="cli-1")

    assert told == "plan pr-7: operator by operator: plan paused; cli-1"


def test_the_steps_of_the_work_are_words_and_the_end_of_a_plan_is_no_todo() -> None:
    kept_here = WorkStep(todo_id="t-1", verdict="not_pushed", reason="there is no remote `origin`")
    finished = WorkStep(todo_id="pr-7", verdict="finished")

    assert line("work", "prloom", work=kept_here) == (
        "plan pr-7: work by prloom: TODO t-1 not pushed (there is no remote `origin`)"
    )
    assert line("work", "prloom", work=finished) == "plan pr-7: work by prloom: plan finished"


def test_the_repositorys_own_bus_is_named() -> None:
    assert line("intake", "prloom", "") == "repository: intake by prloom: nothing changed"


def test_of_many_ids_some_are_named_and_the_rest_is_counted() -> None:
    told = line("intake", "prloom", changes=tuple(admitted(f"e{number}") for number in range(25)))

    assert told.endswith("e18, e19 and 5 more")


def test_text_from_outside_stays_on_its_line_is_cut_and_holds_no_control_characters() -> None:
    reason = "no\n2026-01-01 INFO forged \x1b[31m\u202e" + "x" * 500
    told = line("x", "y", changes=(Change(event_id="e\n\x07", verdict="held", state="held", reason=reason),))

    assert told.isprintable()
    assert len(told) < 300
    assert told.startswith("plan pr-7: x by y: held e \ufffd (no 2026-01-01 INFO forged \ufffd[31m\ufffdxxx")


@pytest.mark.parametrize("part", sorted(SAID))
def test_each_part_of_a_decision_that_is_news_is_said(part: str) -> None:
    assert "nothing changed" not in line("work", "prloom", **{part: SAID[part]})  # type: ignore[literal-required]


def test_each_part_of_a_decision_is_either_said_or_known_to_be_no_news() -> None:
    assert set(SAID) | SILENT == set(DecisionParts.__annotations__)


def test_hooks_about_the_whole_plan_name_no_todo() -> None:
    step = WorkStep(todo_id="pr-7", verdict="hooks_run", hook="afterActivate")

    assert line("work", "prloom", work=step) == "plan pr-7: work by prloom: the afterActivate hooks have run"


@pytest.mark.parametrize(
    ("milliseconds", "shown"), [(0, "0 s"), (999, "999 ms"), (1_000, "1 s"), (45_300, "45 s"), (61_000, "1 min 1 s")]
)
def test_how_long_a_call_took_is_said_in_units_that_people_read(milliseconds: int, shown: str):
    assert line("onEvent", "slow", duration_ms=milliseconds) == f"plan pr-7: onEvent by slow: {shown}"
