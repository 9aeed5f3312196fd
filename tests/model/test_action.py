from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from prloom.model import record
from prloom.model.action import (
    Action,
    AddLabels,
    AssignUsers,
    ClosePr,
    Comment,
    InlineComment,
    Merge,
    Payload,
    React,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
    UpsertPlan,
)
from prloom.model.event import Target

# Every payload of the design, with all its fields as they stand on the wire.
PAYLOADS: list[tuple[Payload, dict[str, Any]]] = [
    (Comment("Noted."), {"type": "comment", "message": "Noted."}),
    (InlineComment("a.py", 3, "Here."), {"type": "inline_comment", "path": "a.py", "line": 3, "message": "Here."}),
    (
        Review("request_changes", "No.", ({"path": "a.py", "line": 3},)),
        {"type": "review", "verdict": "request_changes", "summary": "No.", "comments": [{"path": "a.py", "line": 3}]},
    ),
    (RequestReviewers(("ann",)), {"type": "request_reviewers", "reviewers": ["ann"]}),
    (Merge("squash"), {"type": "merge", "method": "squash"}),
    (ClosePr(), {"type": "close_pr"}),
    (AddLabels(("bug",)), {"type": "add_labels", "labels": ["bug"]}),
    (RemoveLabels(("bug",)), {"type": "remove_labels", "labels": ["bug"]}),
    (AssignUsers(("ann",)), {"type": "assign_users", "users": ["ann"]}),
    (SetMilestone("1.0"), {"type": "set_milestone", "milestone": "1.0"}),
    (ResolveThread(), {"type": "resolve_thread"}),
    (React("eyes"), {"type": "react", "reaction": "eyes"}),
    (
        UpsertPlan("inbox", "T", "# T\n", {"a": 1}, "draft", hidden=True),
        {
            "type": "upsert_plan",
            "source": "inbox",
            "title": "T",
            "planMarkdown": "# T\n",
            "metadata": {"a": 1},
            "status": "draft",
            "hidden": True,
        },
    ),
]
NAMES = [wire["type"] for _, wire in PAYLOADS]


def an_action(payload: Payload) -> Action:
    return Action(id="a-1", target=Target("github", {"pr": 7}), payload=payload, related_event_id="e1")


@pytest.mark.parametrize(("payload", "wire"), PAYLOADS, ids=NAMES)
def test_an_action_has_the_fields_of_the_bus(payload: Payload, wire: dict[str, Any]) -> None:
    line = msgspec.json.decode(msgspec.json.encode(record.to_wire(an_action(payload))))

    assert line == {
        "id": "a-1",
        "type": "respond",
        "target": {"target": "github", "token": {"pr": 7}},
        "payload": wire,
        "relatedEventId": "e1",
    }


@pytest.mark.parametrize(("payload", "wire"), PAYLOADS, ids=NAMES)
def test_an_action_comes_out_of_its_line_as_it_went_in(payload: Payload, wire: dict[str, Any]) -> None:
    line = {"target": {"target": "github"}, "payload": {**wire, "fromTheFuture": 1}, "fromTheFuture": {}}

    action = record.from_wire(Action, line)

    assert action == Action(target=Target("github"), payload=payload)


def test_every_payload_is_in_the_table() -> None:
    assert {type(payload) for payload, _ in PAYLOADS} == set(get_args(Payload))


@pytest.mark.parametrize(
    ("wire", "payload"),
    [
        ({"type": "merge"}, Merge("merge")),
        ({"type": "review", "verdict": "comment"}, Review("comment", "", ())),
        ({"type": "upsert_plan", "source": "s", "title": "t", "planMarkdown": "m"}, UpsertPlan("s", "t", "m")),
    ],
)
def test_what_a_payload_leaves_out_has_its_usual_value(wire: dict[str, Any], payload: Payload) -> None:
    assert record.from_wire(Action, {"target": {"target": "x"}, "payload": wire}).payload == payload


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"type": "shell", "command": "rm"}, "Invalid value 'shell' - at `$.payload.type`"),
        ({"message": "no type"}, "Object missing required field `type` - at `$.payload`"),
        ({"type": "comment"}, "Object missing required field `message` - at `$.payload`"),
        ({"type": "merge", "method": "force"}, "Invalid enum value 'force' - at `$.payload.method`"),
        ({"type": "review", "verdict": "meh"}, "Invalid enum value 'meh' - at `$.payload.verdict`"),
        ({"type": "inline_comment", "path": "a", "line": "3"}, "Expected `int`, got `str` - at `$.payload.line`"),
        ({"type": "add_labels", "labels": "bug"}, "Expected `array`, got `str` - at `$.payload.labels`"),
    ],
)
def test_a_payload_that_is_none_says_which_field_is_at_fault(payload: dict[str, Any], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        record.from_wire(Action, {"target": {"target": "x"}, "payload": payload})

    assert str(caught.value) == problem


def test_an_action_is_a_response_and_nothing_else() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Invalid enum value 'execute' - at `\$.type`"):
        record.from_wire(Action, {"type": "execute", "target": {"target": "x"}, "payload": {"type": "close_pr"}})
