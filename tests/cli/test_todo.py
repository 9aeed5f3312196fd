"""`prloom todo`, `prloom block` and `prloom unblock`, with a dispatcher and without."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.core.plans import plan_file
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.model.work import WorkStep
from prloom.storage.safe_dir import SafeDir

PLAN = "# Fast\n\n## TODO\n\n- [ ] Measure <!-- prloom:todo t-1 -->\n- [x] Think <!-- prloom:todo t-2 -->\n- [ ] Ask\n"


def listed(prloom: Prloom, plan: str = "pr-7") -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = json.loads(prloom("todo", plan, "--json").out)["todos"]
    return found


@pytest.fixture
def text(stage: Stage) -> Callable[[], str]:
    file = stage.adopt() / "plan.md"
    file.write_text(PLAN)
    return file.read_text


def test_the_todos_are_listed_and_each_gets_an_id(prloom: Prloom, text: Callable[[], str]) -> None:
    ran = prloom("todo", "pr-7")

    ids = [todo.id for todo in plan_file.todos(text())]
    assert ids[:2] == ["t-1", "t-2"]
    assert ran.out.splitlines() == [
        "open     t-1  Measure",
        "done     t-2  Think",
        f"open     {ids[2]}  Ask",
    ]


def test_the_json_of_a_todo_has_all_its_keys(prloom: Prloom, text: Callable[[], str]) -> None:
    assert listed(prloom)[0] == {
        "id": "t-1",
        "title": "Measure",
        "state": "open",
        "eventIds": [],
        "commit": None,
        "attempts": 0,
        "reason": None,
    }


def test_a_plan_without_todos_says_so(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    assert prloom("todo", "pr-7").out == "There are no TODOs.\n"


def test_a_todo_is_added_with_its_context(prloom: Prloom, text: Callable[[], str]) -> None:
    assert prloom("todo", "pr-7", "add", "Ask", "--context", "Bob\n- [ ] knows").code == 0

    added = plan_file.todos(text())[-1]
    assert (added.title, added.context) == ("Ask", "Bob\n- [ ] knows")
    ids = [todo.id for todo in plan_file.todos(text())]
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize(
    ("action", "todo", "said", "state"),
    [
        ("done", "t-1", "Done: Measure.\n", "done"),
        ("block", "t-1", "Blocked: Measure.\n", "blocked"),
        ("open", "t-2", "Opened: t-2.\n", "open"),
        ("drop", "t-1", "Dropped: Measure.\n", "dropped"),
    ],
)
def test_a_todo_is_changed_in_the_file(
    prloom: Prloom, text: Callable[[], str], *, action: str, todo: str, said: str, state: str
) -> None:
    assert prloom("todo", "pr-7", action, todo).out == said

    found = {item.id: item.state for item in plan_file.todos(text())}
    assert found[todo] == state
    assert text().count("\n") == PLAN.count("\n")


def test_a_block_has_its_reason_until_the_todo_is_opened(prloom: Prloom, text: Callable[[], str]) -> None:
    prloom("todo", "pr-7", "block", "t-1", "--reason", "Which cache?")
    assert listed(prloom)[0]["reason"] == "Which cache?"

    prloom("todo", "pr-7", "open", "t-1")

    assert "Which cache?" not in text()
    assert listed(prloom)[0]["reason"] is None
    again = prloom("todo", "pr-7", "open", "t-1").out
    assert again == "Nothing changed: t-1 is open already, and waits for nothing that a person can end.\n"


def test_the_todos_of_a_draft_are_changed_as_well(prloom: Prloom) -> None:
    prloom("new", "Fast")

    prloom("todo", "fast", "add", "Measure")
    (todo,) = listed(prloom, "fast")
    prloom("todo", "fast", "done", todo["id"][:6])

    assert [(each["title"], each["state"]) for each in listed(prloom, "fast")] == [("Measure", "done")]


def test_a_todo_is_known_by_the_beginning_of_its_id_unless_several_begin_so(
    prloom: Prloom, text: Callable[[], str]
) -> None:
    ran = prloom("todo", "pr-7", "done", "t-")
    assert "several TODOs of plan pr-7 begin with t-: t-1, t-2" in ran.err
    assert "plan pr-7 has no TODO x; `prloom todo pr-7` lists them" in prloom("todo", "pr-7", "done", "x").err


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["add"], "add needs a TITLE"),
        (["done"], "done needs the ID of a TODO"),
        (["--reason", "x"], "--reason belongs to block"),
        (["done", "t-1", "--context", "x"], "--context belongs to add"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    prloom: Prloom, text: Callable[[], str], args: list[str], error: str
) -> None:
    ran = prloom("todo", "pr-7", *args)

    assert (ran.code, text()) == (2, PLAN)
    assert error in ran.err


def test_a_todo_that_prloom_did_is_requested_again_by_a_decision(
    stage: Stage, prloom: Prloom, text: Callable[[], str]
) -> None:
    local = SafeDir.make(stage.local())
    store = EventStore.open(local.make_sub("bus"), stage.clock, (PlanFile(local),))
    store.commit("work", "prloom", work=WorkStep(todo_id="t-2", verdict="started"))
    store.commit("work", "prloom", work=WorkStep(todo_id="t-2", verdict="done", box="done", commit="a" * 40))
    store.save()
    store.close("the test goes on")
    assert [(each["commit"], each["attempts"]) for each in listed(prloom)][1] == ("a" * 40, 1)

    ran = prloom("todo", "pr-7", "open", "t-2", "--json")

    assert ran.err == "Opened: t-2.\n"
    assert json.loads(ran.out)["todos"][1]["state"] == "open"
    assert stage.decisions()[-1]["work"]["verdict"] == "reopened"
    assert plan_file.todos(text())[1].state == "open"
    assert stage.state()["reopened"] == {"t-2": 2}


def test_todos_are_allowed_to_begin(stage: Stage, prloom: Prloom, text: Callable[[], str]) -> None:
    prloom("todo", "pr-7", "go", "t-1")
    assert stage.state()["granted"] == ["t-1"]

    prloom("todo", "pr-7", "go")

    assert [todo.id for todo in plan_file.todos(text()) if todo.state == "open"] == stage.state()["granted"]


@pytest.mark.parametrize(("action", "state"), [("done", "done"), ("block", "blocked"), ("drop", "dropped")])
def test_a_todo_that_is_not_open_does_not_wait_to_begin(
    stage: Stage, prloom: Prloom, text: Callable[[], str], action: str, state: str
) -> None:
    prloom("todo", "pr-7", action, "t-1")

    ran = prloom("todo", "pr-7", "go", "t-1")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"prloom: the TODO t-1 of plan pr-7 is {state}, so it does not wait to begin; "
        f"`prloom todo pr-7 open t-1` requests it again\n"
    )
    assert "granted" not in stage.state()


def test_a_plan_is_blocked_with_a_reason_and_unblocked(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    assert prloom("block", "7", "--reason", "Wait for the release").out == "Blocked: pr-7.\n"
    block = stage.state()["block"]
    assert (block["reason"], block["wayOn"]) == ("Wait for the release", "prloom unblock pr-7")

    assert prloom("unblock", "pr-7").out == "Unblocked: pr-7.\n"
    assert stage.state().get("block") is None
    prloom("block", "pr-7", "--reason", "Again")
    prloom("resume", "pr-7")
    assert stage.state().get("block") is None
    assert "Missing option '--reason'" in prloom("block", "pr-7").err


def test_nothing_of_a_draft_is_allowed_to_begin(prloom: Prloom) -> None:
    prloom("new", "Fast")
    prloom("todo", "fast", "add", "Measure")

    assert "fast is a draft, and nothing works on it; hand it over with `prloom queue fast`" in (
        prloom("todo", "fast", "go").err
    )


def test_nothing_is_allowed_to_begin_where_prloom_may_not_commit(
    stage: Stage, prloom: Prloom, refused: Refusal
) -> None:
    stage.adopt(work=False)
    prloom("todo", "pr-7", "add", "Measure")

    assert refused("todo", "pr-7", "go") == (
        "prloom: prloom may not commit to the branch of pr-7, so it lists TODOs only, and none of them waits to begin;"
        " to have it work there, forget the plan and adopt it again with --work\n"
    )
