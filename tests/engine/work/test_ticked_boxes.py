"""A box that a person ticks is cleared once prloom has heard of it, and never before."""

from __future__ import annotations

from pathlib import Path

from described_bridge import DescribedBridge
from stage import Stage, said

from prloom.api import Author, ticked
from prloom.engine.bus.event_store import EventStore
from prloom.model.pull_request import KeptPullRequest
from prloom.model.work import Block, WorkStep
from prloom.storage.safe_dir import SafeDir

PAUSE = "- [ ] pause the work on this plan"
BOX = {"box": "pause"}


def opened(local: Path, stage: Stage) -> None:
    """Have a pull request that prloom opened."""
    with SafeDir.make(local / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        store.commit("pull_request", "test", pull_request=KeptPullRequest(opened=True))
        store.save()


def report(forge: DescribedBridge, stage: Stage) -> None:
    """Let the next poll report that ann has ticked the box to pause."""
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("ann", "write")))
    forge.ticked = {7: ("pause",)}


async def test_the_cockpit_is_written_into_the_description_once(stage: Stage, forge: DescribedBridge) -> None:
    opened(stage.adopt(), stage)
    for _ in range(3):
        await stage.tick_after(minutes=1)

    assert forge.written == 1
    assert forge.body.startswith("Mine.\n\n<!-- prloom:begin -->")
    assert PAUSE in forge.body


async def test_a_box_of_a_person_who_is_not_trusted_is_cleared_and_does_nothing(
    stage: Stage, forge: DescribedBridge
) -> None:
    opened(stage.adopt(), stage)
    await stage.tick()
    before = forge.body
    forge.body = forge.body.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("eve", "none")))
    forge.ticked = {7: ("pause",)}
    await stage.tick_after(minutes=1)

    assert forge.body == before
    assert not stage.state()["paused"]


async def test_a_box_of_which_no_event_has_come_is_not_cleared(stage: Stage, forge: DescribedBridge) -> None:
    opened(stage.adopt(), stage)
    await stage.tick()
    forge.body = forge.body.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    stage.bridge.news.append(said("other", "/prloom pause", author=Author("ann", "write")))  # so there is more to show
    await stage.tick_after(minutes=1)

    assert ticked(forge.body) == ("pause",)
    report(forge, stage)
    await stage.tick_after(minutes=2)
    assert ticked(forge.body) == ()
    assert "**Paused.**" in forge.body


async def test_a_todo_that_waits_for_consent_on_a_pull_request_of_another_has_the_box_for_it(
    stage: Stage, forge: DescribedBridge
) -> None:
    stage.configure('[work]\nmode = "ask"\n')
    local = stage.adopt()
    (local / "plan.md").write_text("# The plan\n\n## TODO\n\n- [ ] first <!-- prloom:todo t-1 -->\n")
    with SafeDir.make(local / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        store.commit("work", "test", work=WorkStep(todo_id="t-1", verdict="proposed"))
        store.save()

    await stage.tick()

    assert forge.comment is not None
    assert "- [ ] first — waits (your consent)" in forge.comment
    assert "<!-- prloom:box go -->" in forge.comment


async def test_a_pull_request_of_another_has_the_cockpit_in_one_comment(stage: Stage, forge: DescribedBridge) -> None:
    local = stage.adopt()
    with SafeDir.make(local / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        now = "2026-11-21T12:00:00.000Z"
        store.commit("work", "test", block=Block(reason="why not", since=now, way_on="prloom resume pr-7"))
        store.save()
    await stage.tick()
    assert forge.comment is not None
    forge.comment = forge.comment.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    report(forge, stage)
    await stage.tick_after(minutes=1)

    assert (forge.written, forge.body) == (2, "Mine.\n")
    assert "**Paused.**" in forge.comment
    assert ticked(forge.comment) == ()
    assert forge.mark.startswith("<!-- prloom:action a-")


async def test_a_box_that_is_cleared_while_its_author_is_looked_up_is_obeyed_no_more(
    stage: Stage, forge: DescribedBridge
) -> None:
    local = stage.adopt()
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("sam"), context=BOX))
    forge.ticked = {7: ("pause",)}
    await stage.tick_after(minutes=1)
    held = stage.state()["open"]
    forge.ticked = {}
    await stage.tick_after(minutes=1)
    forge.permissions["sam"] = "write"
    await stage.tick_after(minutes=10)

    assert list(held) == ["box"]
    assert not stage.state()["paused"]
    assert stage.state()["done"] == {"superseded": 1}
    assert '"reason":"the box was cleared"' in (local / "bus/decisions.jsonl").read_text()


async def test_a_box_that_prloom_clears_is_obeyed_once_its_author_is_known(
    stage: Stage, forge: DescribedBridge
) -> None:
    opened(stage.adopt(), stage)
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("sam"), context=BOX))
    forge.ticked = {7: ("pause",)}
    await stage.tick_after(minutes=1)
    forge.ticked = {}
    await stage.tick_after(minutes=1)
    forge.permissions["sam"] = "write"
    await stage.tick_after(minutes=10)

    assert stage.state()["paused"]
