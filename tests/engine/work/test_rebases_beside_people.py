"""A rebase while people use the branch: what they commit, push or delete meanwhile stays as they have made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_remote import Remote
from workbench import Workbench


@pytest.fixture
async def remote(bench: Workbench, tmp_path: Path) -> Remote:
    """A remote that has the commit of one TODO, and whose base was moved since."""
    found = Remote(bench, tmp_path)
    await bench.make_it_fast()
    bench.project.git("commit", "--quiet", "--allow-empty", "--message=Move on")
    bench.project.git("push", "--quiet", "origin", "main")
    return found


def tip(remote: Remote) -> str:
    return remote.bench.project.git("rev-parse", "work", cwd=remote.bare)


def check(bench: Workbench, *commands: str) -> None:
    """Have a check do this, as people might while it runs."""
    script = bench.home / "check"
    script.write_text("\n".join(commands))
    bench.configure(f'checks = ["sh {script}"]')


async def test_a_branch_that_is_deleted_on_the_remote_during_the_rebase_blocks_the_plan_until_it_was_pushed_again(
    bench: Workbench, remote: Remote
):
    check(bench, f"git --git-dir={remote.bare} update-ref -d refs/heads/work")
    before = bench.project.git("rev-parse", "work")
    await bench.carry_out("rebase", "work")
    assert bench.project.git("for-each-ref", "refs/heads/work", cwd=remote.bare) == ""
    assert "branch work was deleted on origin; push it again, or forget the plan" in bench.block.reason

    bench.project.git("push", "--quiet", "origin", f"{before}:refs/heads/work")
    await bench.carry_out("resume", "work", ticks=2)

    assert bench.state.block is None
    assert tip(remote) == bench.project.git("rev-parse", "work") != before


def bob_commits(bench: Workbench, name: str = "bob.txt") -> str:
    """Return a command with which Bob commits a file in the plan's worktree."""
    commit = 'git -c user.name=Bob -c user.email=bob@example.org commit --quiet --message="Of Bob"'
    return f'cd "{bench.worktree}" && echo bob >{name} && git add {name} && {commit}'


async def test_a_rebase_that_is_given_up_keeps_what_a_person_committed_meanwhile_and_goes_on_when_it_is_opened_again(
    bench: Workbench, remote: Remote
):
    check(bench, bob_commits(bench), "exit 1")

    await bench.carry_out("rebase", "work")

    assert bench.commits == ["Be fast", "Of Bob"]
    assert (bench.worktree / "bob.txt").read_text() == "bob\n"
    assert bench.boxes[-1] == "- [b] Rebase the branch onto its base"
    kept = bench.project.git("rev-parse", "--short=12", "work")
    assert "after the rebase, the check `sh " in bench.block.reason
    assert f"the rebase stays, because the branch has commits that prloom did not make: {kept}" in (bench.block.reason)
    assert bench.block.way_on.startswith("prloom todo work open ")

    check(bench, "test -e bob.txt")
    bench.plan.write_text(bench.plan.read_text().replace("- [b]", "- [ ]"))
    await bench.ticks(2)
    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert remote.subjects == ["Be fast", "Of Bob"]
    assert bench.project.git("rev-parse", "work^^") == bench.project.git("rev-parse", "main")


async def test_a_rebase_takes_along_what_was_not_pushed_before(bench: Workbench, remote: Remote):
    (bench.worktree / "bob.txt").write_text("bob\n")
    bench.project.git("add", "bob.txt", cwd=bench.worktree)
    bench.project.git("commit", "--quiet", "--message=Of Bob", cwd=bench.worktree)

    await bench.carry_out("rebase", "work")

    assert remote.subjects == ["Be fast", "Of Bob"]
    assert bench.project.git("rev-parse", "work^^") == bench.project.git("rev-parse", "main")


async def test_what_others_push_during_a_rebase_blocks_the_plan_where_a_person_has_committed_too(
    bench: Workbench, remote: Remote
):
    git = f"git --git-dir={remote.bare} -c user.name=Ann -c user.email=ann@example.org"
    made = f'$({git} commit-tree -p work -m "Of Ann" "work^{{tree}}")'
    check(bench, bob_commits(bench), f"{git} update-ref refs/heads/work {made}")

    await bench.carry_out("rebase", "work")

    assert bench.commits == ["Be fast", "Of Bob"]
    assert remote.subjects == ["Be fast", "Of Ann"]
    assert "commits of people would have to be rewritten" in bench.block.reason


async def test_a_rebase_that_is_taken_out_of_the_plan_stays_under_what_a_person_committed(
    bench: Workbench, remote: Remote
):
    check(bench, bob_commits(bench), f"sed -i '/Rebase the branch/d' {bench.plan}")

    await bench.carry_out("rebase", "work")

    assert bench.commits == ["Be fast", "Of Bob"]
    assert "the rebase stays, because the branch has commits that prloom did not make" in bench.block.reason
    assert bench.block.way_on == "prloom resume work"


async def test_files_that_a_person_has_in_the_worktree_stay_when_a_rebase_is_given_up(bench: Workbench, remote: Remote):
    check(bench, "exit 1")
    (bench.worktree / "bob.txt").write_text("bob")
    before = bench.project.git("rev-parse", "work")

    await bench.carry_out("rebase", "work")

    assert bench.project.git("rev-parse", "work") == before
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == "?? bob.txt"
    assert (bench.worktree / "bob.txt").read_text() == "bob"


async def test_a_rebase_during_which_others_push_each_time_is_parked_and_taken_back(bench: Workbench, remote: Remote):
    check(bench, remote.commit)

    await bench.carry_out("rebase", "work", ticks=3)

    assert bench.block.reason.endswith("3 times, its result could not be pushed: others pushed during the rebase")
    assert bench.boxes[-1] == "- [b] Rebase the branch onto its base"
    assert remote.subjects[-3:] == ["Other"] * 3
