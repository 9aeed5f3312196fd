"""TODOs that were done, and the conversations that waited for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stage import ScriptedTriager, Stage, said

from prloom.api import Event, ResolveThread


def wanting(batch: Sequence[Event]) -> dict[str, Any]:
    """Make a TODO of each event."""
    return {
        "items": [{"eventId": event.id, "verdict": "todo", "reply": None} for event in batch],
        "todos": [{"title": f"do {event.id}", "eventIds": [event.id]} for event in batch],
    }


async def asked(stage: Stage, *ids: str) -> None:
    stage.adopt()
    stage.triager = ScriptedTriager(wanting)
    stage.bridge.news = [said(event_id, type="pr_review_comment") for event_id in ids]
    await stage.tick()


def tick_off(stage: Stage, title: str) -> None:
    file = stage.local() / "plan.md"
    file.write_text(file.read_text().replace(f"- [ ] {title}", f"- [x] {title}"))


def resolved(stage: Stage) -> list[str | None]:
    return [each.related_event_id for each in stage.bridge.actions_seen if isinstance(each.payload, ResolveThread)]


async def test_a_todo_stands_in_the_plan_until_somebody_ticks_it_off(stage: Stage):
    await asked(stage, "a")

    assert "- [ ] do a" in (stage.local() / "plan.md").read_text()
    assert resolved(stage) == []


async def test_the_conversation_of_a_todo_that_is_done_is_resolved_once(stage: Stage):
    await asked(stage, "a", "b")
    tick_off(stage, "do a")

    await stage.tick()
    await stage.tick()

    assert resolved(stage) == ["a"]


async def test_a_running_dispatcher_sees_a_box_that_is_ticked(stage: Stage):
    await asked(stage, "a")
    async with stage.running():
        tick_off(stage, "do a")

        await stage.until(lambda: resolved(stage) == ["a"])
