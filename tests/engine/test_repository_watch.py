"""The parts of a repository that are reported as new."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import git_folder
import pytest
from operator_scene import OperatorScene

from prloom.engine.repository_watch import ALL, RepositoryWatch
from prloom.storage import paths


@pytest.fixture
def scene(scene: OperatorScene) -> OperatorScene:
    git_folder.make(scene.root / ".git")
    return scene


@asynccontextmanager
async def watched(scene: OperatorScene) -> AsyncIterator[asyncio.Queue[str]]:
    """Give what is told after the first word, which is that everything may be new."""
    told: asyncio.Queue[str] = asyncio.Queue()
    watching = asyncio.create_task(RepositoryWatch(scene.where, lambda: (), told.put_nowait).run())
    async with asyncio.timeout(60):
        assert await told.get() == ALL
        yield told
    assert not watching.done()
    watching.cancel()


async def told_of(told: asyncio.Queue[str], plan: str) -> None:
    """Wait until a plan, and nothing else, is reported as new."""
    assert await told.get() == plan
    while not told.empty():
        assert told.get_nowait() == plan


async def test_it_tells_which_plan_is_new_and_first_of_all_that_everything_may_be(scene: OperatorScene) -> None:
    scene.plan("pr-1")
    async with watched(scene) as told:
        home = scene.where.worktree("pr-1").joinpath(*paths.LOCAL)

        (home / paths.SEEN_IDS).touch()
        (home / ".plan.md.0123.tmp").touch()
        (home / "plan.md").write_text("# Changed\n")
        await told_of(told, "pr-1")

        scene.plan("pr-2")
        assert await told.get() == ALL


async def test_a_change_of_the_configuration_is_told_at_once_and_none_of_the_files_beside_it(
    scene: OperatorScene,
) -> None:
    scene.plan("pr-1")
    async with watched(scene) as told:
        home = scene.where.worktree("pr-1").joinpath(*paths.LOCAL)
        (scene.root / "README.md").write_text("# Read me\n")
        (home / "plan.md").write_text("# Changed\n")
        await told_of(told, "pr-1")

        for text in ("[dispatch\n", "[dispatcher]\n", "[dispatch\n"):  # more often than the first looks tell of all
            (scene.root / "prloom.toml").write_text(text)
            while await told.get() != ALL:
                pass


async def test_a_folder_that_cannot_be_read_ends_no_watch_and_is_told(scene: OperatorScene) -> None:
    scene.where.local.parent.mkdir(exist_ok=True)
    scene.where.local.write_text("this is no folder\n")
    async with watched(scene):
        pass
