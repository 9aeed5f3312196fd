"""`prloom why TODO-ID`: from the events that requested a TODO, over its attempts, to its commit; and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import by
from worked_plan import WorkedPlan

from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_requests, work_results
from prloom.engine.bus.event_store import EventStore
from prloom.engine.views import events, request_targets, why, why_todo
from prloom.errors import PrloomError
from prloom.model.action import Action, Comment
from prloom.model.event import Target
from prloom.storage import json_codec
from prloom.storage.safe_dir import SafeDir


def read(stage: Stage, todo_id: str = "t-1", plan: str | None = None) -> Mapping[str, Any]:
    """Return the document as a program reads it."""
    found = why_todo.find(stage.paths, todo_id, plan=plan)
    assert found is not None
    document: Mapping[str, Any] = json.loads(json_codec.encode(why_todo.document(found)))
    return document


async def requested(stage: Stage) -> WorkedPlan:
    """Have a comment request a TODO, and return its plan and the TODO's id."""
    stage.adopt()
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": event.id, "verdict": "todo"} for event in batch],
        "todos": [{"eventIds": [event.id for event in batch], "title": "Make it fast", "context": "It sleeps."}],
    }
    await stage.take_in(said("c-1", "Please make it fast", author=by("ann", "write"), url="https://forge.example/c-1"))
    return WorkedPlan(stage, adopt=False, text=False)


async def test_it_leads_from_the_comment_over_each_attempt_to_the_commit(stage: Stage) -> None:
    plan = await requested(stage)
    (todo,) = plan.todos
    assert todo.id is not None
    plan.fail("1 failed").done(todo.id)

    document = read(stage, todo.id)

    assert document["todo"] == {
        "id": todo.id,
        "title": "Make it fast",
        "state": "done",
        "eventIds": ["c-1"],
        "commit": plan.state.done_todos[todo.id].commit,
        "attempts": 2,
        "reason": None,
        "plan": "pr-7",
        "context": "It sleeps.",
    }
    assert [(step["verdict"], step.get("attempt"), step.get("run")) for step in document["steps"]] == [
        ("added", None, None),
        *(("taken", 1, None), ("prepared", 1, None), ("ready", 1, None), ("started", 1, "run-1")),
        *(("changed", 1, None), ("failed", 1, None), ("started", 2, "run-2"), ("changed", 2, None)),
        *(("checked", 2, None), ("approved", 2, None), ("accepted", 2, None), ("committed", 2, None)),
        *(("pushed", 2, None), ("done", None, None)),
    ]
    assert document["steps"][0]["reason"] == "c-1"
    assert document["steps"][6]["reason"] == "make test failed: 1 failed"
    (event,) = document["events"]
    assert (event["id"], event["author"]["login"], event["body"], event["state"]) == (
        *("c-1", "ann", "Please make it fast", "triaged"),
    )


async def test_the_history_of_an_event_goes_on_to_its_todo_and_the_commit(stage: Stage) -> None:
    plan = await requested(stage)
    (todo,) = plan.todos
    plan.fail("1 failed").done(todo.id or "")

    document = json.loads(json_codec.encode(why.document(why.find(stage.paths, "c-1"))))

    commit = plan.state.done_todos[todo.id or ""].commit
    assert document["todos"] == [{"id": todo.id, "title": "Make it fast", "state": "done", "commit": commit}]
    told = [(step["verdict"], step.get("commit")) for step in document["steps"] if step["stage"] == "work"]
    assert told == [
        *(("taken", None), ("started", None), ("failed", None), ("started", None)),
        *(("committed", commit), ("done", commit)),
    ]


async def test_the_list_of_events_names_the_todo_of_each_and_its_commit(stage: Stage) -> None:
    plan = await requested(stage)
    (todo,) = plan.todos
    plan.done(todo.id or "")
    await stage.take_in(said("c-2", "/prloom help"))

    first, second = json.loads(json_codec.encode(events.every(stage.paths).rows))

    commit = plan.state.done_todos[todo.id or ""].commit
    assert first["todos"] == [{"id": todo.id, "title": "Make it fast", "state": "done", "commit": commit}]
    assert "todos" not in second


def test_a_todo_that_a_person_wrote_has_no_event_and_before_it_is_taken_no_step(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast")

    document = read(stage)

    assert (document["state"], document["steps"], document["events"]) == ("open", [], [])


def test_other_todos_and_plans_are_left_out(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast", "Make it small").done("t-2")
    WorkedPlan(stage, "Make it nice", plan_id="other").at("ready")

    assert len(read(stage, "t-2")["steps"]) == 11
    with pytest.raises(PrloomError) as refused:
        why_todo.find(stage.paths, "t-1")
    choices = "`prloom why t-1 --plan other`, `prloom why t-1 --plan pr-7`"
    assert str(refused.value) == f"t-1 is a TODO of several plans; choose one: {choices}"
    assert read(stage, plan="other")["todo"]["title"] == "Make it nice"
    assert why_todo.find(stage.paths, "t-3") is None


def test_the_wait_in_progress_and_the_block_of_the_plan_are_shown_with_the_way_on(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    until = stage.clock() + timedelta(hours=1)
    plan.commit(work_failures.limited(plan.ctx, plan.work, AgentWait("the usage limit is reached", until, known=True)))
    assert read(stage)["now"]["wait"]["until"] == "2026-01-01T13:00:00.000Z"

    plan.commit(work_results.blocked(plan.ctx, "plugin tidy: no", way_on="prloom resume pr-7", cause="hook"))
    plan.commit(work_requests.resumed(plan.state), by="operator", stage="operator")
    plan.commit(work_requests.blocked(plan.state, "pr-7", "not now", stage.clock()), by="operator", stage="operator")

    document = read(stage)
    assert [(step["verdict"], step["by"], step["reason"]) for step in document["steps"]][-3:] == [
        ("blocked", "prloom", "plugin tidy: no"),
        ("unblocked", "operator", None),
        ("blocked", "operator", "not now"),
    ]
    assert document["block"]["wayOn"] == "prloom unblock pr-7"


def test_a_todo_that_was_parked_and_opened_again_shows_both(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").park()
    assert read(stage)["state"] == "blocked"

    plan.commit(work_requests.resumed(plan.state), by="operator", stage="operator")

    verdicts = [step["verdict"] for step in read(stage)["steps"]]
    assert verdicts[-4:] == ["parked", "blocked", "retried", "unblocked"]


def test_a_todo_that_was_taken_out_of_the_plan_is_still_explained(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    (stage.local() / "plan.md").write_text("# Plan\n")

    document = read(stage)

    assert (document["todo"]["title"], document["state"]) == ("Make it fast", "removed")
    assert plan.work.id == "t-1"


def test_the_replies_that_a_todo_caused_are_shown_as_they_are_now(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("pushed")
    reply = Action(id="a-1", target=Target("forge", {"thread": "c-1"}), payload=Comment("Done."))
    plan.commit({**work_results.done(plan.work, pause=False), "actions": (reply,)})

    assert read(stage)["steps"][-1]["actions"] == [{"id": "a-1", "state": "queued", "url": None}]


def test_what_a_snapshot_knows_is_told_where_the_segments_before_it_are_gone(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast").done()
    with SafeDir.make(stage.local() / "bus") as bus:
        store = EventStore.open(bus, stage.clock, rotate_at=1)
        store.commit("todo", "prloom")
        store.save()
    (stage.local() / "bus/decisions-000001.jsonl").unlink()

    (step,) = read(stage)["steps"]

    assert (step["verdict"], step["reason"]) == (
        "done",
        "what came before is not in the log any more; it was done by then",
    )


def test_a_request_about_an_event_that_names_a_todo_gets_the_commands_for_todos(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast")

    with pytest.raises(PrloomError) as refused:
        request_targets.named(stage.paths, ["t-1"])

    choices = "`prloom todo pr-7 open t-1`, `prloom todo pr-7 drop t-1`"
    assert str(refused.value) == f"t-1 is a TODO and not an event; change it with one of: {choices}"
