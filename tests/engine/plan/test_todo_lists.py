"""The TODOs of a plan in its activity."""

from __future__ import annotations

import json
from typing import Any

from stage import Stage

from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.todo_lists import TodoLists
from prloom.model.work import TodoWork, WorkStep

PLAN = "# A plan\n\n## TODO\n\n- [ ] first\n- [ ] second\n"


def following(stage: Stage) -> Dispatcher:
    """Return a dispatcher that writes the lists down."""
    dispatcher = stage.dispatcher()
    dispatcher.registry.show_todos = TodoLists(ActivityLog(stage.paths, stage.clock, {})).update
    return dispatcher


def lists(stage: Stage) -> list[list[tuple[str, str]]]:
    """Return the lists that were written down, each item with its status."""
    file = stage.local() / "activity.jsonl"
    if not file.exists():
        return []
    events: list[dict[str, Any]] = [json.loads(line)["data"] for line in file.read_text().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {(event["type"], event["planId"], event.get("runId")) for event in events} == {("TODO_UPDATE", "pr-7", None)}
    return [[(todo["content"], todo["status"]) for todo in event["data"]["todos"]] for event in events]


async def test_the_plans_list_is_written_whenever_it_changes_and_not_again_after_a_restart(stage: Stage) -> None:
    file = stage.adopt() / "plan.md"
    await following(stage).once()
    assert lists(stage) == []

    file.write_text(PLAN)
    await following(stage).once()
    await following(stage).once()
    assert lists(stage) == [[("first", "pending"), ("second", "pending")]]

    file.write_text(file.read_text().replace("[ ] first", "[x] first").replace("[ ] second", "[-] second"))
    await following(stage).once()
    assert lists(stage)[1:] == [[("first", "completed"), ("second", "dropped")]]


async def test_the_todo_that_is_worked_on_is_in_progress(stage: Stage) -> None:
    (stage.adopt() / "plan.md").write_text(PLAN)
    dispatcher = following(stage)
    async with stage.rounds_of(dispatcher) as again:
        await again()
        runtime = dispatcher.registry.runtimes["pr-7"]
        todo = runtime.text.todos()[0]
        assert todo.id is not None
        taken = WorkStep(todo_id=todo.id, verdict="taken", work=TodoWork(id=todo.id, title="first"))
        runtime.event_store.commit("work", "prloom", work=taken)
        await again()

    assert lists(stage)[-1] == [("first", "in_progress"), ("second", "pending")]
