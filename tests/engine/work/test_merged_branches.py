"""A plan without a forge has ended when its branch is in its base, here or at origin."""

from __future__ import annotations

import pytest
from workbench import Workbench


@pytest.mark.parametrize("how", [["merge", "--quiet", "--no-ff", "work"], ["merge", "--quiet", "--squash", "work"]])
async def test_a_plan_is_merged_once_its_branch_is_in_the_base_here(bench: Workbench, how: list[str]):
    await bench.make_it_fast()
    await bench.tick()
    assert bench.status == "active"

    bench.project.git(*how)
    if "--squash" in how:
        bench.project.git("commit", "--quiet", "-m", "Be fast")
    bench.stage.clock.advance(minutes=2)
    await bench.tick()

    assert bench.status == "merged"


async def test_a_plan_is_merged_once_its_branch_is_in_the_base_at_origin(bench: Workbench):
    origin = bench.project.root.parent / "remote.git"
    bench.project.git("clone", "--quiet", "--bare", str(bench.project.root), str(origin))
    bench.project.git("remote", "add", "origin", str(origin))
    await bench.make_it_fast(ticks=2)

    bench.project.git("push", "--quiet", "origin", "work:main")
    bench.stage.clock.advance(minutes=2)
    await bench.tick()

    assert bench.status == "merged"


async def test_a_plan_with_an_open_todo_or_without_a_commit_of_its_own_is_not_merged(bench: Workbench):
    await bench.tick()
    assert bench.status == "active"
    await bench.make_it_fast()
    bench.project.git("merge", "--quiet", "work")
    bench.todo("- [b] Later")
    bench.stage.clock.advance(minutes=2)

    await bench.tick()

    assert bench.status == "active"
