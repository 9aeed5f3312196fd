"""What a person who starts one round is shown while it happens."""

from __future__ import annotations

from datetime import UTC

import pytest

from prloom.core.reports.round_report import RoundReport
from prloom.model.action import Action, Comment, React
from prloom.model.decision import Change, Decision, Deferral, DeliveryChange, Todo
from prloom.model.event import Target
from prloom.model.pull_request import OpenedPullRequest
from prloom.model.record import Timestamp
from prloom.model.work import TodoWork, WorkStep, WorkVerdict

NOON = Timestamp(2026, 11, 29, 12, tzinfo=UTC)
WORK = TodoWork(id="t-1", title="Make it fast", agent="claude", attempt=2, commit="0123456789abcdef")


def shown(*decisions: Decision) -> list[str]:
    report = RoundReport()
    return [line for each in decisions for line in report.lines("pr-7", each)]


def step(verdict: WorkVerdict, work: TodoWork | None = WORK, reason: str | None = None) -> Decision:
    return Decision(
        seq=1, stage="work", by="prloom", work=WorkStep(todo_id="t-1", verdict=verdict, reason=reason, work=work)
    )


@pytest.mark.parametrize(
    ("verdict", "reason", "line"),
    [
        ("started", None, "claude works on it, attempt 2"),
        ("checked", "passed: make test", "passed: make test"),
        ("committed", None, "commit 0123456789"),
        ("failed", "make test failed", "attempt failed: make test failed"),
        ("limited", "claude is not signed in", "waits: claude is not signed in"),
    ],
)
def test_each_step_of_a_todo_is_a_line_with_its_title(verdict: WorkVerdict, reason: str | None, line: str):
    assert shown(step(verdict, reason=reason)) == [f'pr-7: "Make it fast": {line}']


def test_the_end_of_a_todo_has_its_title_although_that_decision_does_not_name_it():
    assert shown(step("committed"), step("done", None))[-1] == 'pr-7: "Make it fast": done'


def test_steps_that_only_prepare_another_one_are_not_shown():
    assert shown(step("taken"), step("prepared"), step("ready")) == []


def test_replies_are_shown_when_they_are_delivered_and_when_they_are_not():
    target = Target(target="github", token=None)
    actions = (
        Action(id="a-1", target=target, payload=Comment("Done.")),
        Action(id="a-2", target=target, payload=React("eyes")),
    )
    sent = DeliveryChange(action_id="a-1", state="delivered", attempts=1, url="https://example.org/1")
    refused = DeliveryChange(action_id="a-2", state="failed", attempts=1, error="locked")

    assert shown(
        Decision(seq=1, stage="triage", by="claude", actions=actions),
        Decision(seq=2, stage="delivery", by="github", deliveries=(sent, refused)),
    ) == ["pr-7: replied: https://example.org/1", "pr-7: could not send react: locked"]


def test_events_that_go_the_same_way_are_one_line():
    wait = Deferral("quiet", "still writing", 1, NOON, NOON, NOON)
    deferred = tuple(
        Change(event_id=each, verdict="deferred", state="deferred", reason="still writing", deferral=wait)
        for each in ("a", "b")
    )
    started = Change(event_id="c", verdict="started", state="pending")

    assert shown(Decision(seq=1, stage="triage", by="claude", changes=(*deferred, started))) == [
        "pr-7: claude reads 1 event",
        f"pr-7: 2 events put off until {NOON}: still writing",
    ]


def test_new_todos_and_the_pull_request_are_shown_and_no_line_can_hold_another():
    opened = OpenedPullRequest(forge="github", number=7, url="https://example.org/7")
    decision = Decision(seq=1, stage="todo", by="x", todos=(Todo(id="t-2", title="One\nTwo\x1b[0m"),), opened=opened)

    assert shown(decision) == ['pr-7: new TODO "One Two\ufffd[0m"', "pr-7: opened pull request 7"]
