from __future__ import annotations

from datetime import UTC

import pytest

from prloom.core.work import work_projection
from prloom.model.decision import Decision, DecisionParts
from prloom.model.record import Cursor, Json, Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo, Kept, Question, TodoWork, WorkStep

NOON = Timestamp(2026, 1, 1, 12, tzinfo=UTC)
ASKED, ASKED_AGAIN = (Question(text=text, after=Cursor(1, 0)) for text in ("Redis?", "Which one?"))
BUSY = DispatchState(
    todos={"t1": (), "t2": ()},
    rebase_requested=True,
    rebase_todo="t2",
    work=TodoWork(id="t1", title="Make it fast", round=2),
    done_todos={"t3": DoneTodo(round=2, commit="c3")},
    reopened={"t1": 2},
    plan_hooked=("afterActivate:a",),
    kept=Kept(until=NOON),
    questions={"t1": ASKED, "t2": ASKED},
    answers={"t1": "No.", "t2": "Yes."},
)
"""A plan of which every part has something to lose."""

ANSWERED = {
    "questions": {"t2": ASKED},
    "answers": {"t1": "Use it.", "t2": "Yes."},
}
PARKED = {"work": None, "questions": {"t1": ASKED_AGAIN, "t2": ASKED}, "answers": {"t2": "Yes."}}
ENDED = {
    "work": None,
    "done_todos": {"t1": DoneTodo(round=2, commit="c1"), "t3": DoneTodo(round=2, commit="c3")},
    "reopened": {},
    "unfinished": True,
    "questions": {"t2": ASKED},
    "answers": {"t2": "Yes."},
}


@pytest.mark.parametrize(
    ("parts", "changed"),
    [
        ({}, {}),
        ({"rebase_requested": False}, {"rebase_requested": False, "rebase_todo": None, "todos": {"t1": ()}}),
        ({"work": WorkStep(todo_id="t1", verdict="corrected")}, {}),
        ({"work": WorkStep(todo_id="t1", verdict="answered", box="open", answer="Use it.")}, ANSWERED),
        ({"work": WorkStep(todo_id="t1", verdict="parked", question=ASKED_AGAIN)}, PARKED),
        (
            {"work": WorkStep(todo_id="t2", verdict="asked", question=ASKED_AGAIN)},
            {"questions": {"t1": ASKED, "t2": ASKED_AGAIN}},
        ),
        ({"work": WorkStep(todo_id="t1", verdict="done", box="done", commit="c1")}, ENDED),
        ({"work": WorkStep(todo_id="t3", verdict="reopened")}, {"reopened": {"t1": 2, "t3": 3}, "done_todos": {}}),
        ({"work": WorkStep(todo_id="plan", verdict="hooked")}, {"plan_hooked": ("afterActivate:a", "beforeFinish:b")}),
    ],
)
def test_a_decision_changes_what_it_speaks_of_and_leaves_the_rest_of_the_work(
    parts: DecisionParts, changed: dict[str, Json]
) -> None:
    found = work_projection.fields(BUSY, Decision(seq=1, stage="beforeFinish", by="b", **parts), NOON)

    assert {name: value for name, value in found.items() if value != getattr(BUSY, name)} == changed
