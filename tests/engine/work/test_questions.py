"""A worker's question: a trusted answer opens the TODO again and is in the next prompt; any other does not."""

from __future__ import annotations

from typing import Any

import pytest
from forge_bridge import ForgeBridge
from msgspec.structs import replace
from workbench import Run, Workbench

from bridges.local import LocalBridge
from prloom.api import Author, Event, Target

ASKS = Run(answer={"outcome": "blocked", "summary": "", "question": "Redis or memory?"})
DOES = Run({"cache.py": "memory\n"}, answer={"outcome": "done", "summary": "x", "commitMessage": "Cache in memory"})
PLACE = Target("forge", {"pr": 1})


def said(event_id: str, body: str, trust: str = "admin", **fields: Any) -> Event:
    given = {"source": "forge", "type": "pr_comment", "reply_to": PLACE, "context": {"plan": "work"}}
    return Event(id=event_id, body=body, author=Author("ann", trust), **{**given, **fields})


@pytest.fixture
def forge(bench: Workbench) -> ForgeBridge:
    """The forge of a plan with a pull request, on which a worker has asked a question."""
    found = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = found, [found]
    bench.script(Run({"one.py": "1\n"}, answer={"outcome": "done", "summary": "one"}), ASKS, DOES)
    bench.todo("- [ ] first", "- [ ] Choose a cache")
    return found


async def test_a_trusted_answer_opens_the_todo_again_and_is_in_the_next_prompt(bench: Workbench, forge: ForgeBridge):
    await bench.ticks(3)
    assert bench.boxes[1] == "- [b] Choose a cache"
    assert "About the TODO `Choose a cache`: Redis or memory?" in forge.said

    forge.news.append(said("a1", "Memory, please."))
    await bench.ticks(2)

    assert bench.commits[1:] == ["Cache in memory"]
    assert "You asked: Redis or memory?" in bench.prompt(2)
    assert "did not succeed" not in bench.prompt(2)
    assert "ann answered:" in bench.prompt(2)
    assert "Memory, please." in bench.prompt(2)
    assert bench.state.block is None
    assert bench.stage.triager.batches == []
    assert bench.stage.fate("a1", "work")[-1] == "handled"


STRANGERS = said("stranger", "Memory!", "none")
OTHERS = (
    STRANGERS,
    said("command", "/prloom status"),
    said("elsewhere", "Memory!", reply_to=Target("other")),
    said("thread", "Memory!", context={"plan": "work", "thread": "t9"}),
    said("wordless", "", type="check_failed"),
    replace(said("bot", "Memory!"), author=Author("ci", "admin", bot=True)),
)


async def test_nothing_else_opens_it_nor_does_what_was_said_before_it(bench: Workbench, forge: ForgeBridge):
    forge.news.append(said("before", "Nice work"))
    await bench.ticks(4)

    for event in OTHERS:
        forge.news.append(event)
        await bench.ticks(2)
        assert (event.id, bench.boxes[1], bench.runs()) == (event.id, "- [b] Choose a cache", 2)

    await bench.carry_out("approve", STRANGERS.id, ticks=2)
    assert bench.stage.fate(STRANGERS.id, "work")[-1] == "triaged"
    assert (bench.boxes[1], bench.runs()) == ("- [b] Choose a cache", 2)


async def test_a_question_from_before_the_pull_request_is_asked_there_too_and_answered_by_a_comment(
    bench: Workbench, forge: ForgeBridge
):
    bench.configure("skip_blocked = true")
    bench.script(ASKS, Run({"one.py": "1\n"}, answer={"outcome": "done", "summary": "one"}), DOES)
    await bench.ticks(4)
    assert "Redis or memory?" in forge.said

    forge.news.append(said("a1", "Memory, please."))
    await bench.ticks(2)

    assert bench.commits[1:] == ["Cache in memory"]
    assert "Memory, please." in bench.prompt(2)
    assert bench.stage.triager.batches == []


async def test_without_a_forge_an_item_of_review_md_answers(bench: Workbench):
    bench.stage.bridges = [LocalBridge()]  # type: ignore[list-item] - it takes no test's news
    bench.script(ASKS, DOES)
    await bench.work_on("- [ ] Choose a cache", ticks=2)
    review = bench.worktree / "prloom/.local/review.md"
    assert ": Redis or memory?" in review.read_text()

    with review.open("a") as file:
        file.write("\n- [ ] Memory, please.\n")
    await bench.ticks(2)

    assert bench.commits == ["Cache in memory"]
    assert "Memory, please." in bench.prompt(1)
    assert "- [x] Memory, please." in review.read_text()
    assert bench.stage.triager.batches == []
