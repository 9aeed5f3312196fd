"""People who commit in a plan's worktree while a TODO is worked on: nothing of theirs is lost, and the work goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from meddling_clock import MeddlingClock
from workbench import Run, Workbench

Meddle = Callable[[str, Callable[[], object]], MeddlingClock]
KEPT = "refs/prloom/kept/"


@pytest.fixture
def meddle(bench: Workbench) -> Meddle:
    """Have something happen right after the step that ends with a verdict."""

    def make(verdict: str, act: Callable[[], object]) -> MeddlingClock:
        log = bench.worktree / "prloom/.local/bus/decisions.jsonl"
        bench.stage.clock = clock = MeddlingClock(log, verdict, act)
        return clock

    return make


def commits(bench: Workbench) -> str:
    """Commit a file of Bob's in the worktree, and nothing else; return the commit."""
    (bench.worktree / "bob.txt").write_text("bob\n")
    bench.project.git("add", "bob.txt", cwd=bench.worktree)
    bench.project.git("commit", "--quiet", "--message=Bob's", "bob.txt", cwd=bench.worktree)
    return bench.project.git("rev-parse", "work")


def status(bench: Workbench) -> str:
    return bench.project.git("status", "--porcelain", cwd=bench.worktree)


@pytest.mark.parametrize("verdict", ["changed", "accepted"])
async def test_a_commit_of_a_person_before_that_of_prloom_has_the_attempt_begin_again_on_it(
    bench: Workbench, meddle: Meddle, verdict: str
):
    bench.configure('checks = ["true"]')
    bench.script(Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Be fast"}))
    bench.todo("- [ ] Be fast")
    clock = meddle(verdict, lambda: commits(bench))

    await bench.tick()

    assert clock.happened
    assert bench.commits == ["Bob's", "Be fast"]
    assert bench.boxes == ["- [x] Be fast"]
    assert bench.project.git("show", "--format=", "--name-only", "work").splitlines() == ["fast.py"]
    assert status(bench) == ""
    assert "Bob's" not in bench.prompt(0)
    assert "no longer at" in bench.prompt(1)


async def test_such_an_attempt_does_not_count_and_its_change_is_kept_until_the_todo_is_done(
    bench: Workbench, meddle: Meddle
):
    bench.configure(rest="[limits]\nmax_attempts = 1\n")
    seen: list[str] = []
    asked = f"['git', '-C', {str(bench.project.root)!r}, 'for-each-ref', {KEPT!r}]"
    look = f"import subprocess; assert b'commit' in subprocess.check_output({asked})"
    bench.script(Run({"fast.py": "fast\n"}), Run({"faster.py": "faster\n"}, code=look))
    bench.todo("- [ ] Be fast")
    meddle("changed", lambda: seen.append(commits(bench)))

    await bench.tick()

    assert bench.boxes == ["- [x] Be fast"]
    assert bench.runs() == 2
    assert bench.project.git("for-each-ref", KEPT) == ""
    assert bench.project.git("rev-parse", "work^") == seen[0]


async def test_a_person_who_takes_commits_back_gets_none_of_them_again(bench: Workbench, meddle: Meddle):
    commits(bench)
    bench.script(Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Be fast"}))
    bench.todo("- [ ] Be fast")
    meddle("checked", lambda: bench.project.git("reset", "--quiet", "--keep", "main", cwd=bench.worktree))

    await bench.tick()

    assert bench.commits == ["Be fast"]
    assert not (bench.worktree / "bob.txt").exists()
    assert status(bench) == ""


async def test_a_dropped_todo_leaves_the_files_of_a_persons_commit_and_keeps_its_own_change(
    bench: Workbench, meddle: Meddle
):
    bench.script(Run({"fast.py": "fast\n"}))
    bench.todo("- [ ] Be fast", "- [ ] Be small")

    def act() -> None:
        commits(bench)
        bench.plan.write_text(bench.plan.read_text().replace("- [ ] Be fast", "- [-] Be fast"))

    meddle("changed", act)
    await bench.tick()

    assert (bench.worktree / "bob.txt").read_text() == "bob\n"
    assert status(bench) == ""
    assert bench.state.block is None
    (ref,) = bench.project.git("for-each-ref", "--format=%(refname)", KEPT).splitlines()
    assert bench.project.git("diff", "--name-only", f"{ref}^", ref) == "fast.py"

    await bench.tick()
    assert bench.boxes[-1] == "- [x] Be small"


async def test_what_a_failed_attempt_has_left_is_kept_where_a_person_commits_before_the_next_one(
    bench: Workbench, meddle: Meddle
):
    bench.configure('checks = ["test ! -e slow.py"]')
    bench.script(
        Run({"slow.py": "slow\n"}),
        Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Be fast"}),
    )
    bench.todo("- [ ] Be fast")
    meddle("failed", lambda: commits(bench))

    await bench.tick()

    assert bench.commits == ["Bob's", "Be fast"]
    assert bench.shown("fast.py") == "fast"
    assert status(bench) == ""
    assert "the check `test ! -e slow.py` failed" in bench.prompt(1)
