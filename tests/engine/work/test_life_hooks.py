"""The hooks about a whole plan: when it begins, after its finish, and when its pull request has ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from forge_bridge import ForgeBridge
from values import an_event
from workbench import Run, Workbench

from prloom.api import PluginContext
from prloom.api.plan_context import PlanContext
from prloom.engine.bus import plans
from prloom.storage.safe_dir import SafeDir

Seen = list[tuple[str, str]]
ADDING = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Add fast"})


@pytest.fixture
def forge(bench: Workbench) -> ForgeBridge:
    found = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = found, [found]
    bench.script(ADDING)
    return found


def plugin(bench: Workbench, key: str, *names: str, does: Callable[[str, PlanContext], str | None]) -> None:
    def register(ctx: PluginContext) -> None:
        for name in names:
            ctx.register_hook(name, does)

    bench.stage.plugin(key, register)


def noting(bench: Workbench, seen: Seen, *names: str, key: str = "notes") -> None:
    plugin(bench, key, *names, does=lambda plan, hook: seen.append((key, hook.hook_point)))


async def end(bench: Workbench, forge: ForgeBridge, how: str) -> None:
    forge.news.append(an_event(f"end-{how}", type=f"pr_{how}", source="forge", pr=1, body="", author=None))
    bench.stage.clock.advance(minutes=2)
    await bench.ticks(2)


async def test_a_hook_that_runs_after_the_activation_may_change_the_plan(bench: Workbench, forge: ForgeBridge):
    plugin(bench, "adds", "afterActivate", does=lambda plan, hook: f"{plan}- [ ] Install what it needs\n")

    await bench.tick()

    assert bench.boxes == ["- [x] Install what it needs"]
    with SafeDir.make(bench.worktree, "prloom", ".local") as local:
        assert not plans.load(local).activates


async def test_a_hook_that_no_plugin_has_has_run_at_once(bench: Workbench):
    await bench.tick()

    with SafeDir.make(bench.worktree, "prloom", ".local") as local:
        assert not plans.load(local).activates  # all of no hooks have run


async def test_after_finish_runs_when_the_pull_request_is_ready_and_its_reviewers_are_asked(
    bench: Workbench, forge: ForgeBridge
):
    shown: list[tuple[bool, int]] = []
    bench.plan.write_text(f"---\nreviewers: [ann]\n---\n{bench.plan.read_text()}")
    plugin(
        bench,
        "looks",
        "beforeFinish",
        "afterFinish",
        does=lambda plan, hook: shown.append((forge.pulls[1].draft if forge.pulls else True, len(forge.posts))),
    )

    await bench.work_on("- [ ] first", ticks=3)

    assert shown == [(True, 0), (False, 1)]
    assert forge.posts[0].startswith("RequestReviewers")


@pytest.mark.parametrize("hook", ["afterActivate", "afterFinish", "afterMerge"])
async def test_one_that_fails_blocks_the_plan_with_its_name_and_runs_again_on_resume(
    bench: Workbench, forge: ForgeBridge, hook: str
):
    seen: Seen = []
    broken = [True]

    def fail(plan: str, ctx: PlanContext) -> None:
        seen.append(("broken", ctx.hook_point))
        if broken:
            raise ValueError("no")

    noting(bench, seen, hook, key="before")
    plugin(bench, "broken", hook, does=fail)
    await bench.work_on("- [ ] first", ticks=3)
    if hook == "afterMerge":
        await end(bench, forge, "merged")

    block = bench.state.block
    assert block is not None
    assert (block.reason, block.way_on) == (
        f"plugin broken: {hook} failed: {hook} raised ValueError: no",
        "prloom resume work",
    )
    assert seen == [("before", hook), ("broken", hook)]

    broken.clear()
    await bench.carry_out("resume", "work", ticks=3)
    assert seen == [("before", hook), ("broken", hook), ("broken", hook)]
    assert bench.state.block is None


async def test_the_end_is_told_once_and_a_plugin_may_block_what_follows(bench: Workbench, forge: ForgeBridge):
    plugin(bench, "asks", "afterMerge", does=lambda plan, hook: hook.block("write the release notes"))
    await bench.work_on("- [ ] first", ticks=3)

    await end(bench, forge, "closed")

    assert bench.block.reason == "plugin asks: write the release notes"


async def test_what_a_worker_has_not_finished_when_the_plan_ends_is_kept_and_the_todo_stays_open(
    bench: Workbench, forge: ForgeBridge
):
    await bench.work_on("- [ ] first", "- [ ] second")
    bench.script(ADDING, Run({"half.py": "half\n"}, answer=None, code_of_exit=1))
    await bench.tick()
    work = bench.state.work
    assert work is not None

    await end(bench, forge, "merged")

    assert bench.state.work is None
    assert bench.boxes == ["- [x] first", "- [ ] second"]
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    assert bench.shown("half.py", f"refs/prloom/kept/{work.id}.work") == "half"
