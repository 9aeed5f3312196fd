"""The branch that a pull request is to be merged into: its plan is rebased onto that one, and onto no other."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from forge_bridge import ForgeBridge
from msgspec.structs import replace
from shared_remote import Remote
from workbench import FAST, Workbench

from prloom.api import PullRequest
from prloom.engine.adoption import found
from prloom.engine.bus import plans
from prloom.engine.views import plan_diff
from prloom.errors import PrloomError
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository


class Scene:
    """A plan whose pull request has one commit of prloom's, and a remote on which main and dev have their own."""

    def __init__(self, bench: Workbench, home: Path) -> None:
        self.bench = bench
        self.forge = ForgeBridge()
        bench.stage.bridge, bench.stage.bridges = self.forge, [self.forge]
        self.remote = Remote(bench, home)
        self.tips = {branch: self._commit_to(branch) for branch in ("main", "dev")}
        bench.script(FAST)

    def _commit_to(self, branch: str) -> str:
        git, clone = self.bench.project.git, self.remote.clone
        git("checkout", "--quiet", "--detach", "work", cwd=clone)
        (clone / f"{branch}.py").write_text("new\n")
        git("add", ".", cwd=clone)
        git("commit", "--quiet", "-m", f"Change {branch}", cwd=clone)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}", cwd=clone)
        return git("rev-parse", "HEAD", cwd=clone)

    async def open_pull_request(self) -> None:
        await self.bench.work_on("- [ ] Make it fast")
        assert self.forge.pulls[1].base == "main"

    def change_base(self, base: str) -> None:
        """Have a person change the base of the pull request."""
        self.forge.pulls[1] = dataclasses.replace(self.forge.pulls[1], base=base)
        self.forge.bases[1] = base

    async def rebase(self) -> None:
        await self.bench.carry_out("rebase", "work")

    @property
    def parent(self) -> str:
        """The commit that the pushed branch builds on."""
        return self.bench.project.git("rev-parse", "work^", cwd=self.remote.bare)

    @property
    def noted(self) -> str | None:
        """The base that `state.json` has."""
        base: str | None = json.loads((self.bench.worktree / "prloom/.local/state.json").read_text())["prBase"]
        return base


@pytest.fixture
def scene(bench: Workbench, tmp_path: Path) -> Scene:
    return Scene(bench, tmp_path)


async def test_a_base_whose_name_git_does_not_take_changes_nothing(scene: Scene):
    await scene.open_pull_request()
    scene.change_base("-x..y")

    await scene.bench.tick()

    assert scene.noted == "main"


async def test_one_is_rebased_onto_its_new_base_and_blocked_by_its_name_while_that_is_not_there(scene: Scene):
    await scene.open_pull_request()
    before = scene.parent
    assert scene.noted == "main"
    scene.change_base("dev")
    scene.bench.project.git("branch", "dev", "main")
    scene.bench.project.git("push", "--quiet", "origin", ":dev", cwd=scene.remote.clone)

    await scene.rebase()

    assert scene.parent == before
    assert scene.bench.block.reason == (
        "origin has no branch dev, into which the pull request is to be merged; "
        "restore it, or change the base of the pull request"
    )

    scene.bench.project.git("push", "--quiet", "origin", f"{scene.tips['dev']}:refs/heads/dev", cwd=scene.remote.clone)
    scene.bench.stage.ask("resume", "work")
    await scene.bench.ticks(2)
    assert scene.noted == "dev"
    assert scene.parent == scene.tips["dev"]


# ---- adopted ones


async def adopted(scene: Scene, base: str) -> None:
    """Adopt a pull request of another branch, `feature`, that is to be merged into the base."""
    bench, git = scene.bench, scene.bench.project.git
    git("push", "--quiet", "origin", "HEAD:refs/heads/feature", cwd=scene.remote.clone)
    pull = PullRequest(9, "A", "", "feature", base, "open", "https://forge.example/9", scene.tips["dev"])
    await found.adopt_found(
        repository.find(bench.project.root),
        bench.stage.config,
        pull,
        target="forge",
        work=True,
        now=bench.stage.clock(),
    )


async def test_an_adopted_one_is_noted_with_its_base_and_its_branch_as_one_of_the_remote(scene: Scene):
    await adopted(scene, "dev")

    with SafeDir.make(scene.bench.stage.local("pr-9")) as local:
        plan = plans.load(local)
    assert (plan.pr_base, plan.base, plan.merges_into, plan.made_branch) == ("dev", None, "dev", True)


async def test_the_difference_of_an_adopted_one_has_no_commits_of_its_base(scene: Scene):
    await adopted(scene, "dev")

    assert plan_diff.of_plan(scene.bench.stage.paths, "pr-9", base_branch="main") == ""


async def test_a_base_that_is_not_here_is_named_with_what_fetches_it(scene: Scene):
    await adopted(scene, "nowhere")

    with pytest.raises(PrloomError, match=r"the base nowhere shares no commit .* `git fetch origin`"):
        plan_diff.of_plan(scene.bench.stage.paths, "pr-9", base_branch="main")


def test_the_base_of_the_pull_request_comes_before_the_branch_that_the_plan_began_from(bench: Workbench):
    with SafeDir.make(bench.worktree, "prloom", ".local") as local:
        plan = plans.load(local)
    assert plan.merges_into is None
    assert replace(plan, base="next").merges_into == "next"
    assert replace(plan, base="next", pr_base="dev").merges_into == "dev"
