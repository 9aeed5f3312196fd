"""When the cockpit is shown: from the first thing that waits for people, until the pull request is over."""

from __future__ import annotations

from pathlib import Path

import pytest
from described_bridge import DescribedBridge
from stage import Stage, said

from prloom.api import Author
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.model.decision import DecisionParts
from prloom.model.pull_request import KeptPullRequest
from prloom.storage.safe_dir import SafeDir

TODO = "# The plan\n\n## TODO\n\n- [ ] first <!-- prloom:todo t-1 -->\n"
BOXES = "<!-- prloom:box"


def commit(local: Path, stage: Stage, parts: DecisionParts) -> None:
    with SafeDir.make(local) as folder:
        store = EventStore.open(folder.make_sub("bus"), stage.clock, (PlanFile(folder),))
        store.commit("work", "test", **parts)
        store.save()


async def end(stage: Stage, kind: str) -> None:
    """Let the pull request be closed, merged or reopened."""
    stage.bridge.news.append(said(f"{kind}-{stage.bridge.polls}", "", type=kind, author=None))
    await stage.ticks_by_the_minute(2)


# ---- on a pull request of another's


async def test_a_draft_is_counted_until_it_is_sent(stage: Stage, forge: DescribedBridge) -> None:
    stage.adopt()
    forge.news.append(said("e1", "please", author=Author("eve", "none")))
    await stage.tick()
    stage.ask("approve", "e1")
    await stage.ticks_by_the_minute(2)
    (waiting,) = stage.state()["queue"]
    assert forge.comment is not None
    assert "1 reply waits for the operator to send it." in forge.comment
    assert "re e1" not in forge.comment

    stage.ask("draft_send", waiting)
    await stage.ticks_by_the_minute(3)

    assert "operator" not in forge.comment
    assert "There is nothing to do." in forge.comment


# ---- when the pull request is over


@pytest.mark.parametrize(
    ("kind", "notice"),
    [
        ("pr_closed", "**Closed.** Nothing is worked on until the pull request is reopened."),
        ("pr_merged", "**Merged.** Nothing is worked on any more."),
    ],
)
async def test_the_last_one_of_an_ended_pull_request_has_no_boxes(
    stage: Stage, forge: DescribedBridge, kind: str, notice: str, pr_7: Path
) -> None:
    (pr_7 / "plan.md").write_text(TODO)
    commit(pr_7, stage, {"pull_request": KeptPullRequest(opened=True), "paused": True})
    await stage.ticks_by_the_minute(2)
    assert BOXES in forge.body

    await end(stage, kind)

    assert notice in forge.body
    assert "- [ ] first\n" in forge.body
    assert "Paused" not in forge.body
    assert BOXES not in forge.body


async def test_nothing_is_written_after_the_last_one_until_the_pull_request_is_reopened(
    stage: Stage, forge: DescribedBridge, pr_7: Path
) -> None:
    (pr_7 / "plan.md").write_text(TODO)
    commit(pr_7, stage, {"pull_request": KeptPullRequest(opened=True)})
    await stage.ticks_by_the_minute(2)
    await end(stage, "pr_closed")
    written = forge.written

    (pr_7 / "plan.md").write_text(TODO + "- [ ] second\n")
    await stage.ticks_by_the_minute(3)
    assert forge.written == written

    await end(stage, "pr_reopened")
    assert "Closed" not in forge.body
    assert "- [ ] second" in forge.body
    assert BOXES in forge.body


async def test_the_last_one_is_tried_for_a_while_and_then_left(stage: Stage, forge: DescribedBridge) -> None:
    local = stage.adopt()
    commit(local, stage, {"pull_request": KeptPullRequest(opened=True)})
    await stage.ticks_by_the_minute(2)
    forge.gone = True
    await end(stage, "pr_closed")
    assert stage.state()["pullRequest"]["error"] == "forge: there is no pull request #7 any more"

    for _ in range(20):
        await stage.tick_after(hours=2)

    assert "error" not in stage.state()["pullRequest"]
    assert "retryAt" not in stage.state()["pullRequest"]
