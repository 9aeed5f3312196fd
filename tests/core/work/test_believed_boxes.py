"""While a worker runs, a box that ends another TODO proves nothing, unless a person or a hook has set it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from prloom.core.plans.plan_file import TodoItem
from prloom.core.plans.plan_reader import TodoState
from prloom.core.work import believed_boxes
from prloom.model.record import Cursor
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo, TodoWork

RUNS = DispatchState(todos={"t1": (), "t2": ()}, work=TodoWork(id="t1", title="one"), suspect_from=Cursor(1, 0))


def states(state: DispatchState, *boxes: TodoState, known: TodoState | None = None) -> list[str]:
    items = [TodoItem(f"t{number}", "title", box) for number, box in enumerate(boxes, 1)]
    remembered = {} if known is None else {"t2": known}
    return [each.state for each in believed_boxes.believed(state, items, remembered)]


@pytest.mark.parametrize("box", ["done", "dropped"])
def test_another_todo_that_a_worker_may_have_ended_is_open(box: TodoState):
    assert states(RUNS, "open", box) == ["open", "open"]
    assert states(RUNS, "open", box, known=box) == ["open", box]


def test_a_block_that_a_worker_may_have_lifted_holds_and_one_that_appears_does_too():
    blocked = replace(RUNS, suspect_blocked=("t2",))

    assert states(blocked, "open", "open") == ["open", "blocked"]
    assert states(blocked, "open", "done") == ["open", "blocked"]
    assert states(blocked, "open", "open", known="open") == ["open", "open"]
    assert states(RUNS, "open", "blocked") == ["open", "blocked"]


def test_what_prloom_has_done_is_done():
    assert states(replace(RUNS, done_todos={"t2": DoneTodo()}), "open", "done") == ["open", "done"]


def test_a_todo_that_prloom_has_never_had_is_as_its_box_says():
    assert states(replace(RUNS, todos={"t1": ()}), "open", "done") == ["open", "done"]


def test_when_nothing_runs_all_boxes_count():
    assert states(replace(RUNS, suspect_to=Cursor(1, 0)), "open", "done") == ["open", "done"]


def test_the_todo_that_is_worked_on_keeps_its_box_and_yet_ends_with_its_work_alone():
    item = TodoItem("t1", "title", "done")

    assert believed_boxes.believed(RUNS, [item], {}) == (item,)
    others = (TodoItem("t1", "title", "dropped"), TodoItem("t2", "title", "done"), TodoItem("t3", "title", "blocked"))
    assert believed_boxes.not_ended_by_box(RUNS, [item, *others]) == (TodoItem("t1", "title", "open"), *others)
    assert believed_boxes.not_ended_by_box(replace(RUNS, work=None), [item]) == (item,)


def test_what_does_not_count_is_put_back_with_the_command_that_does_it():
    boxes: list[TodoState] = ["dropped", "open", "done", "done"]
    written = [TodoItem(f"t{number}", "title", box) for number, box in enumerate(boxes, 1)]
    counting = [TodoItem("t1", "title"), TodoItem("t2", "title", "blocked"), TodoItem("t3", "title"), written[3]]

    steps = [parts["work"] for parts in believed_boxes.put_back("work", written, counting)]

    ran = "in plan.md while a worker ran"
    ended = f"{ran}, which may have done it"
    assert [(step.todo_id, step.verdict, step.box, step.reason) for step in steps if step] == [
        ("t1", "corrected", "open", f"its box was set to dropped {ended}; `prloom todo work drop t1` does so"),
        ("t2", "corrected", "blocked", f"it was unblocked {ran}; `prloom todo work open t2` does so"),
        ("t3", "corrected", "open", f"its box was set to done {ended}; `prloom todo work done t3` does so"),
    ]
