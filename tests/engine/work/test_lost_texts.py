"""A `plan.md` that is missing or empty says nothing of its TODOs: nothing counts as done by it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from described_bridge import DescribedBridge
from stage import Stage
from workbench import FAST, Workbench
from worked_plan import WorkedPlan

from prloom.api import BridgeContext
from prloom.core.plans import plan_file
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.operator import plan_texts, submission
from prloom.engine.operator.plan_texts import NamedPlan
from prloom.engine.views import status
from prloom.errors import PrloomError
from prloom.model.decision import DecisionParts, Todo
from prloom.model.pull_request import KeptPullRequest
from prloom.model.work import WorkStep
from prloom.storage.safe_dir import SafeDir

LOST = "plan.md is missing or empty, and 2 TODOs of it have not ended"
PLAN = "prloom/.local/plan.md"


class DraftedBridge(DescribedBridge):
    """A forge that says whether the pull request was taken out of draft."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = False

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        self.ready = True


def lose(path: Path, how: str) -> None:
    """Take the file away, or its text."""
    if how == "removed":
        path.unlink()
    else:
        path.write_text(" \n")


@pytest.fixture
def drafted(stage: Stage, forge: DescribedBridge) -> DraftedBridge:
    """Return the forge of a plan that prloom has opened a pull request for, one of whose three TODOs is done."""
    found = DraftedBridge()
    stage.bridge, stage.bridges = found, [found]
    plan = WorkedPlan(stage, "Make it fast", "Make it small", "Make it new")
    titles = enumerate(("fast", "small", "new"), 1)
    plan.commit({"todos": tuple(Todo(id=f"t-{number}", title=title) for number, title in titles)})
    plan.done()
    plan.commit({"pull_request": KeptPullRequest(opened=True), "todos_done": ("t-1",)})
    return found


def shown(stage: Stage, plan: str) -> Any:
    """Return what `prloom status` shows of a plan."""
    return status.read(stage.paths, datetime.now(UTC), plan=plan).plans[0]


@pytest.mark.parametrize("how", ["removed", "emptied"])
async def test_a_pull_request_stays_as_it_is_while_the_text_of_its_plan_is_lost(
    stage: Stage, drafted: DraftedBridge, how: str
):
    await stage.ticks_by_the_minute(3)
    body, text = drafted.body, stage.local("pr-7") / "plan.md"
    before = text.read_text()

    lose(text, how)
    await stage.ticks_by_the_minute(3)

    assert not drafted.ready
    assert drafted.body == body
    assert shown(stage, "pr-7").last_error.startswith(LOST)
    assert "restore the file, or write it anew with `prloom edit pr-7`" in shown(stage, "pr-7").last_error
    assert shown(stage, "pr-7").status == "active"

    text.write_text(before)
    await stage.ticks_by_the_minute(3)

    assert shown(stage, "pr-7").last_error is None
    assert not drafted.ready


async def test_a_lost_text_is_shown_also_where_no_dispatcher_has_noticed_it(stage: Stage, drafted: DraftedBridge):
    await stage.ticks_by_the_minute(3)

    (stage.local("pr-7") / "plan.md").unlink()

    assert shown(stage, "pr-7").last_error.startswith(LOST)


async def test_a_text_from_which_all_todos_were_taken_is_not_lost(stage: Stage, drafted: DraftedBridge):
    await stage.ticks_by_the_minute(3)

    (stage.local("pr-7") / "plan.md").write_text("# Plan\n")
    await stage.ticks_by_the_minute(3)

    assert shown(stage, "pr-7").last_error is None
    assert shown(stage, "pr-7").status == "review"


async def test_a_plan_of_which_no_todo_is_open_goes_on_without_its_text(stage: Stage, drafted: DraftedBridge):
    await stage.ticks_by_the_minute(3)
    text = stage.local("pr-7") / "plan.md"
    text.write_text(text.read_text().replace("[ ]", "[-]"))
    await stage.ticks_by_the_minute(3)

    text.unlink()
    await stage.ticks_by_the_minute(3)

    assert shown(stage, "pr-7").last_error is None


async def test_no_todo_is_added_to_a_text_that_was_lost(stage: Stage, drafted: DraftedBridge):
    await stage.ticks_by_the_minute(3)
    (stage.local("pr-7") / "plan.md").unlink()

    with pytest.raises(PrloomError, match=LOST):
        plan_texts.add_todo(stage.paths, NamedPlan("pr-7", is_draft=False), "Another", "")

    assert not (stage.local("pr-7") / "plan.md").exists()


def test_a_decision_adds_to_the_text_that_was_read_last_where_that_was_lost(tmp_path: Path):
    with SafeDir.make(tmp_path) as local, SafeDir.make(tmp_path, "bus") as bus:
        text = PlanFile(local)
        store = EventStore.open(bus, lambda: datetime.now(UTC), (text,))
        store.commit("todo", "test", todos=(Todo(id="t-1", title="a"),))
        text.todos()
        (tmp_path / "plan.md").unlink()

        store.commit("todo", "test", todos=(Todo(id="t-2", title="b"),))

    assert [todo.id for todo in PlanFile(SafeDir.make(tmp_path)).todos()] == ["t-1", "t-2"]


@pytest.mark.parametrize(
    "parts",
    [
        {"todos": (Todo(id="t-2", title="b"),)},
        {"work": WorkStep(todo_id="t-1", verdict="changed", notes="A note.")},
    ],
)
def test_a_decision_makes_no_text_of_its_own_where_one_was_lost(tmp_path: Path, parts: DecisionParts):
    def opened() -> EventStore:
        text = PlanFile(local)
        return EventStore.open(bus, lambda: datetime.now(UTC), (text,))

    with SafeDir.make(tmp_path) as local, SafeDir.make(tmp_path, "bus") as bus:
        before = opened()
        before.commit("todo", "test", todos=(Todo(id="t-1", title="a"),))
        before.save()
        store = opened()
        (tmp_path / "plan.md").unlink()

        with pytest.raises(PrloomError, match="is missing or empty; restore it"):
            store.commit("todo", "test", **parts)
        with pytest.raises(PrloomError, match="is missing or empty; restore it"):
            opened()

        assert not (tmp_path / "plan.md").exists()


@pytest.mark.parametrize("by", ["a dispatcher", "the command"])
async def test_a_rebase_that_is_requested_for_a_lost_text_waits_until_that_is_back(
    stage: Stage, drafted: DraftedBridge, by: str
):
    await stage.ticks_by_the_minute(3)
    text = stage.local("pr-7") / "plan.md"
    before = text.read_text()
    text.unlink()

    if by == "a dispatcher":
        stage.ask("rebase", "pr-7")
    else:
        said = submission.submit(stage.paths, "rebase", ["pr-7"]).message("Requested")
        assert "It cannot be done now" in said
        assert "plan.md is missing or empty; restore it" in said
    await stage.ticks_by_the_minute(3)

    assert not text.exists()

    text.write_text(before)
    stage.clock.advance(hours=1)
    await stage.ticks_by_the_minute(3)

    assert [todo.title for todo in plan_file.todos(text.read_text())] == [
        *("Make it fast", "Make it small", "Make it new"),
        "Rebase the branch onto its base",
    ]


@pytest.mark.parametrize("hook", ["beforeTodo", "afterTodo", "beforeFinish"])
async def test_a_hook_that_returns_an_empty_text_blocks_the_plan_and_leaves_its_text(bench: Workbench, hook: str):
    bench.stage.plugin("wipe", lambda ctx: ctx.register_hook(hook, lambda _plan, _ctx: "\n"))
    bench.todo("- [ ] Make it fast")
    bench.script(FAST)

    await bench.ticks(2)

    assert bench.block.reason.startswith(f"plugin wipe: {hook} failed: ")
    assert "returned an empty text; return the plan's text, or None to keep it" in bench.block.reason
    assert "Make it fast" in bench.plan.read_text()
    assert bench.runs() == (0 if hook == "beforeTodo" else 1)
