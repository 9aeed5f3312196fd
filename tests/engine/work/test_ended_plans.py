"""The worktree of a plan whose pull request was merged or closed: kept for a while, and while work would be lost."""

from __future__ import annotations

import pytest
from forge_bridge import ForgeBridge
from values import an_event
from workbench import Run, Workbench

from prloom.engine.bus import plans
from prloom.storage.safe_dir import SafeDir

ADDING = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Add fast"})


@pytest.fixture
async def ended(bench: Workbench) -> Workbench:
    """A plan whose TODO was done and pushed, and whose pull request was merged."""
    forge = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = forge, [forge]
    remote = bench.project.root.parent / "remote.git"
    bench.project.git("clone", "--quiet", "--bare", str(bench.project.root), str(remote))
    bench.project.git("remote", "add", "origin", str(remote))
    bench.script(ADDING)
    await bench.work_on("- [ ] first", ticks=3)
    forge.news.append(an_event("end", type="pr_merged", source="forge", pr=1, body="", author=None))
    bench.stage.clock.advance(minutes=2)
    await bench.ticks(2)
    return bench


async def later(bench: Workbench, **time: int) -> None:
    bench.stage.clock.advance(**time)
    await bench.tick()


async def test_it_is_kept_for_the_configured_time_and_then_removed(ended: Workbench):
    await later(ended, days=6)
    assert ended.worktree.is_dir()
    assert ended.state.ended_at is not None
    assert ended.state.kept is not None
    assert ended.state.kept.until is not None
    assert (ended.state.kept.until - ended.state.ended_at).days == 7

    await later(ended, days=1)
    assert not ended.worktree.exists()
    assert ended.commits == ["Add fast"]


async def test_new_files_that_are_junk_do_not_keep_it(ended: Workbench):
    (ended.worktree / "__pycache__").mkdir()
    (ended.worktree / "__pycache__/fast.pyc").touch()

    await later(ended, days=7)

    assert not ended.worktree.exists()


async def test_one_with_uncommitted_files_is_kept_with_the_reason_until_they_are_gone(ended: Workbench):
    (ended.worktree / "mine.txt").write_text("mine\n")

    await later(ended, days=8)
    assert ended.state.kept is not None
    assert "holds work that is nowhere else (untracked files: mine.txt)" in (ended.state.kept.reason or "")

    (ended.worktree / "mine.txt").unlink()
    await later(ended, minutes=2)
    assert not ended.worktree.exists()


def squash_merged(bench: Workbench, *, also: str = "") -> None:
    """Merge the branch as one commit on the remote, delete it there, and forget that it was there."""
    other = bench.project.root.parent / "other"
    bench.project.git("clone", "--quiet", str(bench.project.root.parent / "remote.git"), str(other))
    (other / "fast.py").write_text("fast\n")
    (other / "more.py").write_text("more\n")
    if also:
        (other / "fast.py").write_text(also)
    identity = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org")
    bench.project.git("add", "--all", cwd=other)
    bench.project.git(*identity, "commit", "--quiet", "--message=squashed", cwd=other)
    bench.project.git("push", "--quiet", "origin", "HEAD:main", ":work", cwd=other)
    bench.project.git("fetch", "--quiet", "--prune", "origin", "+refs/heads/none*:refs/remotes/origin/*")
    assert bench.project.git("branch", "--remotes", "--list", "origin/work") == ""


async def test_one_whose_content_a_squash_merge_has_brought_into_the_base_is_removed_however_short_the_time_is(
    ended: Workbench,
):
    squash_merged(ended)
    ended.configure('keep = "1s"')

    await later(ended, minutes=2)

    assert not ended.worktree.exists()
    assert ended.commits == ["Add fast"]


async def test_one_whose_content_is_not_in_the_base_is_kept_with_the_reason(ended: Workbench):
    squash_merged(ended, also="slow\n")

    await later(ended, days=8)

    assert ended.worktree.is_dir()
    assert ended.state.kept is not None
    assert "commits on no other branch" in (ended.state.kept.reason or "")


async def test_one_that_ended_for_an_older_prloom_stays(bench: Workbench):
    with SafeDir.make(bench.worktree, "prloom", ".local") as local:
        plans.change(local, plans.load(local), lambda plan: plan.__class__(id="work", branch="work", status="merged"))

    await later(bench, days=400)

    assert bench.worktree.is_dir()
