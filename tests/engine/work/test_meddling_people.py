"""People who push, rewrite, edit, delete and close at every step of the work: nothing is lost, and nothing of theirs
is rewritten."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest
from forge_bridge import ForgeBridge
from meddling_clock import MeddlingClock
from shared_remote import Remote
from values import an_event
from workbench import FAST, Run, Workbench

# Take, worker, inspect, check, review, commit, push, report: each by the verdict that ends it.
STEPS = ("taken", "started", "changed", "checked", "approved", "committed", "pushed", "done")
APPROVES = Run(answer={"verdict": "approve", "comments": [], "summary": "Fine."})


class Scene:
    """A plan with one open TODO, on a branch with a commit of Ann's, and a forge with a pull request for it."""

    def __init__(self, bench: Workbench, home: Path) -> None:
        self.bench = bench
        self.remote = Remote(bench, home)
        self.forge = ForgeBridge()
        bench.stage.bridge, bench.stage.bridges = self.forge, [self.forge]
        bench.configure('review = true\nchecks = ["true"]')
        bench.script(FAST)
        bench.script(APPROVES, stage="review")
        self.anns = self.remote.push("ann.py", "ann\n")
        bench.todo("- [ ] Make it fast")
        self.theirs: str | None = None

    async def play(self, step: str, act: str) -> None:
        """Work on the TODO, with the act right after the step, and then until nothing moves any more."""
        log = self.bench.worktree / "prloom/.local/bus/decisions.jsonl"
        clock = MeddlingClock(log, step, getattr(self, act))
        self.bench.stage.clock = clock
        await self.bench.tick()
        assert clock.happened
        for _ in range(2):
            clock.advance(minutes=5)
            await self.bench.tick()

    # ---- what people do

    def pushes(self) -> None:
        self._fetch()
        self.theirs = self.remote.push("theirs.py", "theirs\n")

    def force_pushes(self) -> None:
        """Rewrite the branch: their own commit takes the place of all that is there."""
        self.bench.project.git("reset", "--quiet", "--hard", "origin/main", cwd=self.remote.clone)
        self.theirs = self.remote.push("theirs.py", "theirs\n", "--force")

    def edits_the_plan(self) -> None:
        before, heading, after = self.bench.plan.read_text().partition("## TODO\n")
        self.bench.plan.write_text(f"{before}Read this first.\n\n{heading}- [b] Not yet\n{after}")

    def deletes_the_branch(self) -> None:
        self.bench.project.git("push", "--quiet", "origin", ":work", cwd=self.remote.clone)

    def closes_the_pull_request(self) -> None:
        self.forge.news.append(an_event("closed", type="pr_closed", source="forge", pr=1, body="", author=None))

    def _fetch(self) -> None:
        self.bench.project.git("fetch", "--quiet", "origin", cwd=self.remote.clone)
        self.bench.project.git("reset", "--quiet", "--hard", "origin/work", cwd=self.remote.clone)

    # ---- what came of it

    @property
    def there(self) -> list[str]:
        """The commits of the remote's branch, newest first; none where it is gone."""
        git = self.bench.project.git
        if not git("for-each-ref", "refs/heads/work", cwd=self.remote.bare):
            return []
        return git("rev-list", "work", cwd=self.remote.bare).splitlines()

    def holds_the_change(self) -> bool:
        """Whether the worker's file is in the worktree, on the branch, on the remote's, or kept beside them."""
        git = self.bench.project.git
        refs = git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/prloom").splitlines()
        in_refs = any("fast.py" in git("ls-tree", "-r", "--name-only", ref).splitlines() for ref in refs)
        return in_refs or (self.bench.worktree / "fast.py").exists()

    def commits_of_the_todo(self) -> int:
        """How often the TODO was committed on the branch."""
        bodies = self.bench.project.git("log", "--format=%(trailers:key=Prloom-Todo,valueonly)", "main..work")
        return len(bodies.split())

    def stop(self) -> str | None:
        """Why prloom does not go on, where it does not."""
        state = self.bench.state
        if state.block is not None:
            return state.block.reason
        if state.work is not None:
            return state.work.waits_for
        status: str = json.loads((self.bench.worktree / "prloom/.local/state.json").read_text())["status"]
        if status != "active":
            return status
        return None


@pytest.fixture
def scene(bench: Workbench, tmp_path: Path) -> Scene:
    return Scene(bench, tmp_path)


ACTS = ("pushes", "force_pushes", "edits_the_plan", "deletes_the_branch", "closes_the_pull_request")
ALL = os.environ.get("PRLOOM_CRASHES") == "all"
USUAL = (  # each step once, and each act where most depends on it
    ("taken", "edits_the_plan"),
    ("started", "force_pushes"),
    ("changed", "closes_the_pull_request"),
    ("checked", "deletes_the_branch"),
    ("approved", "force_pushes"),
    ("committed", "pushes"),
    ("pushed", "deletes_the_branch"),
    ("done", "edits_the_plan"),
)
CASES = list(product(STEPS, ACTS)) if ALL else USUAL


@pytest.mark.parametrize(("step", "act"), CASES)
async def test_whatever_people_do_at_whatever_step_nothing_is_lost(scene: Scene, step: str, act: str):
    if act == "closes_the_pull_request":
        opened = await scene.forge.open_pull_request(
            None,
            branch="work",
            base="main",
            title="work",
            body="",
            draft=True,  # type: ignore[arg-type]
        )
        assert opened.number == 1

    await scene.play(step, act)

    begun = scene.bench.runs() > 0
    is_done = "- [x] Make it fast" in scene.bench.boxes
    assert scene.holds_the_change() or not begun
    assert scene.commits_of_the_todo() <= 1
    assert is_done or scene.stop(), scene.bench.state
    if scene.theirs is not None:  # no commit of a person was rewritten, or taken from the remote
        assert scene.theirs in scene.there
    if act == "force_pushes":  # what a person removed is not brought back
        assert scene.anns not in scene.there
    elif act != "deletes_the_branch":
        assert scene.anns in scene.there
    else:
        assert scene.there == [] or scene.anns in scene.there
    assert "Read this first." in scene.bench.plan.read_text() or act != "edits_the_plan"
