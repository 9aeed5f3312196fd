"""The front matter of a plan names the base and the labels of its pull request, and who is to review it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from described_bridge import DescribedBridge, Keeper
from stage import Stage

from prloom.api import BridgeContext, PullRequest
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.views import plan_needs, status
from prloom.model.work import WorkStep
from prloom.storage.safe_dir import SafeDir

PLAN = "---\nreviewers: [ann, bob]\nlabels: [speed]\n---\n# Fast\n\n## TODO\n- [x] a <!-- prloom:todo t-1 -->\n"


class PullRequestBridge(DescribedBridge):
    """A forge on which prloom opens the pull request."""

    def __init__(self) -> None:
        super().__init__()
        self.opened_onto: list[str] = []
        self.ready = False

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        self.ready = True

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        self.opened_onto.append(base)
        self.body = body
        return PullRequest(7, title, body, branch, base, "open", "https://forge.example/7", "sha", draft=draft)


@pytest.fixture
def forge(stage: Stage) -> PullRequestBridge:
    found = PullRequestBridge()
    stage.bridge, stage.bridges = found, [found]
    stage.todo_worker = Keeper()
    return found


def finished(stage: Stage, text: str) -> Path:
    """Have a plan whose one TODO was done."""
    local = stage.adopt("fast", pr=None, forge=None, base="next")
    (local / "plan.md").write_text(text)
    with SafeDir.make(local) as folder:
        store = EventStore.open(folder.make_sub("bus"), stage.clock, (PlanFile(folder),))
        store.commit("work", "test", work=WorkStep(todo_id="t-1", verdict="done", commit="a" * 40))
        store.commit("work", "test", work=WorkStep(todo_id="fast", verdict="finished"))
        store.save()
        store.close("the test goes on")
    return local


def noted_error(stage: Stage) -> Any:
    """Return the error that `prloom status` shows beside the plan."""
    return json.loads((stage.local("fast") / "state.json").read_text()).get("lastError")


async def test_labels_are_put_on_and_reviewers_are_asked_once(stage: Stage, forge: PullRequestBridge):
    finished(stage, PLAN)

    await stage.ticks_by_the_minute(3)

    assert forge.opened_onto == ["next"]
    done = [(action.kind, dict(action.target.token), action.payload) for action in forge.actions_seen]
    assert [kind for kind, _, _ in done] == ["add_labels", "request_reviewers"]
    assert [token for _, token, _ in done] == [{"pr": 7}, {"pr": 7}]
    assert getattr(done[0][2], "labels", None) == ("speed",)
    assert getattr(done[1][2], "reviewers", None) == ("ann", "bob")


async def test_a_plan_that_names_nobody_asks_nobody(stage: Stage, forge: PullRequestBridge):
    finished(stage, PLAN.split("---\n")[2])

    await stage.ticks_by_the_minute(3)

    assert forge.opened_onto == ["next"]
    assert forge.actions_seen == []


async def test_a_mistake_in_the_front_matter_is_an_error_beside_which_the_work_goes_on(
    stage: Stage, forge: PullRequestBridge, caplog: pytest.LogCaptureFixture
):
    local = finished(stage, PLAN.replace("reviewers", "reviewer"))

    await stage.ticks_by_the_minute(3)

    assert forge.opened_onto == ["next"]
    assert forge.actions_seen == []
    assert "unknown key 'reviewer' (line 2); did you mean reviewers?" in caplog.text
    assert "unknown key 'reviewer'" in noted_error(stage)
    (plan,) = status.read(stage.paths, stage.clock()).plans
    (need,) = plan_needs.of_plan(plan)
    assert (need.kind, plan.blocked) == ("error", False)
    assert need.text.endswith("; the work goes on, and reviewers are asked once that is corrected")

    (local / "plan.md").write_text(PLAN.replace("labels", "lables"))
    await stage.ticks_by_the_minute(3)
    assert "unknown key 'lables'" in noted_error(stage)


async def test_it_is_ready_and_reviewers_are_asked_only_once_the_front_matter_can_be_read(
    stage: Stage, forge: PullRequestBridge
):
    local = finished(stage, PLAN.replace("labels: [speed]", "prest: [careful"))

    await stage.ticks_by_the_minute(3)

    assert not forge.ready
    assert [action.kind for action in forge.actions_seen] == []
    assert (noted_error(stage)).startswith("plan.md: ")

    (local / "plan.md").write_text(PLAN)
    await stage.ticks_by_the_minute(3)

    assert forge.ready
    assert [getattr(action.payload, "reviewers", None) for action in forge.actions_seen] == [("ann", "bob")]
    assert noted_error(stage) is None


async def test_an_error_in_a_plan_that_is_over_is_not_shown(stage: Stage, forge: PullRequestBridge):
    local = stage.adopt("fast", pr=None, forge=None, status="merged")
    (local / "plan.md").write_text(PLAN.replace("reviewers", "reviewer"))

    await stage.ticks_by_the_minute(3)

    assert noted_error(stage) is None
