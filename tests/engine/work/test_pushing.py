"""A plan's branch on a remote that others push to as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import executable
import pytest
from shared_remote import Remote
from workbench import Workbench

from prloom.api import PluginContext


@pytest.fixture
def remote(bench: Workbench, tmp_path: Path) -> Remote:
    return Remote(bench, tmp_path)


def during_the_hooks(bench: Workbench, act: Callable[[], object]) -> None:
    """Have something happen when a change was inspected and is not committed yet."""

    def register(ctx: PluginContext) -> None:
        ctx.register_hook("afterTodo", lambda plan, context: act() and None)

    bench.stage.plugin("meanwhile", register)


async def test_work_begins_on_what_others_have_pushed(bench: Workbench, remote: Remote):
    theirs = remote.push("theirs.py", "theirs\n")
    await bench.make_it_fast()

    assert remote.subjects == ["Change theirs.py", "Be fast"]
    assert bench.project.git("rev-parse", "work^") == theirs


async def test_a_push_that_loses_a_race_is_repeated_on_what_won_it(bench: Workbench, remote: Remote):
    during_the_hooks(bench, lambda: remote.push("theirs.py", "theirs\n"))
    await bench.make_it_fast()

    assert remote.subjects == ["Change theirs.py", "Be fast"]
    (done,) = bench.state.done_todos.values()
    assert done.commit == bench.project.git("rev-parse", "work")


async def test_a_push_that_loses_three_races_blocks_the_plan_and_is_tried_again_on_resume(
    bench: Workbench, remote: Remote
):
    at_push(bench, remote.commit)
    await bench.make_it_fast(ticks=2)

    assert bench.block.reason.startswith("origin's branch work moved 3 times during the push (")
    assert bench.block.reason.endswith("); what prloom committed is kept on the local branch")
    assert bench.block.way_on == "prloom resume work"
    assert remote.subjects == ["Other"] * 3

    at_push(bench, "true")
    await bench.carry_out("resume", "work", ticks=2)
    assert remote.subjects == [*["Other"] * 3, "Be fast"]
    assert (bench.boxes, bench.runs()) == (["- [x] Make it fast"], 1)


def at_push(bench: Workbench, command: str) -> None:
    """Have something happen on the remote each time that git pushes to it, before it does."""
    script = executable.write(bench.home / "receivepack", f'#!/bin/sh\n{command}\nexec git-receive-pack "$@"\n')
    bench.project.git("config", "remote.origin.receivepack", str(script))


async def test_a_conflict_with_what_others_pushed_blocks_the_plan_and_rewrites_nothing(
    bench: Workbench, remote: Remote
):
    during_the_hooks(bench, lambda: remote.push("fast.py", "theirs\n"))
    await bench.make_it_fast(ticks=2)

    assert remote.subjects == ["Change fast.py"]
    assert bench.commits == ["Be fast"]
    assert "conflicts with what others pushed in fast.py" in bench.block.reason


async def test_a_branch_that_was_deleted_on_the_remote_blocks_the_plan(bench: Workbench, remote: Remote):
    await bench.make_it_fast()
    bench.project.git("push", "--quiet", "origin", "--delete", "work", cwd=remote.clone)

    await bench.work_on("- [ ] Make it small")

    assert bench.block.reason == "branch work was deleted on origin; push it again, or forget the plan"
    assert bench.runs() == 1


async def test_a_remote_that_cannot_be_reached_makes_the_work_wait_with_its_reason(bench: Workbench):
    bench.project.git("remote", "add", "origin", str(bench.home / "nowhere.git"))
    await bench.make_it_fast()

    assert bench.runs() == 0
    assert bench.state.work is not None
    assert bench.state.work.waits_for is not None
    assert bench.state.work.waits_for.startswith("origin cannot be read:")
    assert bench.state.work.failures == 0


def refuse(remote: Remote, *, yes: bool) -> None:
    executable.write(remote.bare / "hooks" / "pre-receive", f"#!/bin/sh\necho not on a Friday >&2\nexit {int(yes)}\n")


async def test_a_commit_that_the_remote_refuses_blocks_the_plan_after_five_tries_and_is_kept(
    bench: Workbench, remote: Remote
):
    refuse(remote, yes=True)
    await bench.make_it_fast()
    assert bench.state.work is not None
    assert bench.state.work.waits_for is not None
    assert "not on a Friday" in bench.state.work.waits_for
    for _ in range(4):
        assert bench.state.block is None
        bench.stage.clock.advance(hours=1)
        await bench.tick()

    commit = bench.project.git("rev-parse", "work")
    assert (bench.commits, remote.subjects) == (["Be fast"], [])
    assert bench.block.reason.endswith(f"not on a Friday; commit {commit[:12]} is kept on the local branch")
    assert bench.block.way_on == "prloom resume work"

    refuse(remote, yes=False)
    await bench.carry_out("resume", "work", ticks=2)
    assert remote.subjects == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast"]
    assert bench.runs() == 1


async def test_a_remote_that_is_away_for_longer_than_the_deadline_blocks_the_plan_and_the_commit_is_kept(
    bench: Workbench, remote: Remote
):
    during_the_hooks(bench, lambda: remote.bare.rename(remote.bare.with_suffix(".away")))
    await bench.make_it_fast()
    assert bench.state.block is None

    bench.stage.clock.advance(days=8)
    await bench.tick()

    assert bench.commits == ["Be fast"]
    assert bench.block.way_on == "prloom resume work"


def at_contact(bench: Workbench, number: int, command: str) -> None:
    """Have something happen on the remote when git connects to it for the n-th time."""
    for name in ("upload", "receive"):
        script = executable.write(
            bench.home / f"{name}pack",
            f'#!/bin/sh\necho >>"{bench.home}/contacts"\n'
            f'test $(wc -l <"{bench.home}/contacts") != {number} || {command}\nexec git-{name}-pack "$@"\n',
        )
        bench.project.git("config", f"remote.origin.{name}pack", str(script))


async def test_a_branch_that_is_deleted_on_the_remote_during_a_push_is_not_restored(bench: Workbench, remote: Remote):
    at_contact(bench, 3, f'git --git-dir="{remote.bare}" update-ref -d refs/heads/work')
    await bench.make_it_fast()

    # 1: prepare the clone; 2: see what others pushed; 3: push.
    assert len((bench.home / "contacts").read_text()) > 3
    assert bench.project.git("for-each-ref", "refs/heads/work", cwd=remote.bare) == ""
    assert "branch work was deleted on origin" in bench.block.reason
