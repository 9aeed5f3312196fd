"""A commit names who approved the events of strangers behind its TODO."""

from __future__ import annotations

from typing import Any

import pytest
from workbench import FAST, Workbench

from prloom.api import Author, Event, Target


def said(event_id: str, login: str, trust: str, body: str = "Please be fast") -> Event:
    return Event(
        id=event_id,
        source="forge",
        type="pr_comment",
        body=body,
        author=Author(login, trust),
        reply_to=Target("forge"),
        context={"plan": "work"},
    )


def todo_of(batch: Any) -> dict[str, Any]:
    ids = [event.id for event in batch]
    items = [{"eventId": each, "verdict": "todo", "reply": None} for each in ids]
    return {"items": items, "todos": [{"title": "Be fast", "context": "", "eventIds": ids}]}


@pytest.mark.parametrize("by", ["operator", "ann"])
async def test_the_commit_names_who_approved_a_strangers_request(bench: Workbench, by: str):
    bench.stage.triager.answer = todo_of
    bench.script(FAST)
    bench.stage.bridge.news.append(said("e1", "mallory", "none"))
    await bench.tick()

    if by == "operator":
        bench.stage.ask("approve", "e1")
    else:
        bench.stage.bridge.news.append(said("e2", "ann", "admin", "/prloom approve"))
    await bench.ticks(3)

    assert bench.commits == ["Be fast"]
    assert f"Prloom-Event: e1\nPrloom-Vouched-By: {by}" in bench.project.git("log", "-1", "--format=%B", "work")


async def test_what_a_trusted_person_requested_needs_no_approval(bench: Workbench):
    bench.stage.triager.answer = todo_of
    bench.script(FAST)
    bench.stage.bridge.news.append(said("e1", "ann", "admin"))

    await bench.ticks(3)

    assert "Prloom-Vouched-By" not in bench.project.git("log", "-1", "--format=%B", "work")
