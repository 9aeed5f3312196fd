"""`prloom resume` where a plan is blocked: by changes in its worktree, by a TODO, by a plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Prloom, Refusal
from project import Project
from stage import Stage
from workbench import Run, Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(Project(tmp_path / "project"), tmp_path / "bench")
    bench.script(Run({"fast.py": "fast\n"}))
    bench.todo("## TODO", "- [ ] Make it fast")
    yield bench
    bench.pools.close()


@pytest.fixture
def stage(bench: Workbench) -> Stage:
    return bench.stage


async def blocked_by_a_change(bench: Workbench) -> None:
    (bench.worktree / "fast.py").write_text("mine\n")
    await bench.tick()
    assert bench.state.block is not None


async def test_a_change_of_the_operator_is_committed_as_their_own_and_the_work_goes_on(
    bench: Workbench, prloom: Prloom
) -> None:
    await blocked_by_a_change(bench)

    ran = prloom("resume", "work", "--commit")
    await bench.tick()

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Resumed: work.\n")
    assert bench.commits == ["Save changes made by hand", "Make it fast"]
    assert bench.project.git("show", "--format=%an %b", "--name-only", "work~1").split() == ["Ada", "fast.py"]


@pytest.mark.parametrize("options", [("--stash", "--commit"), ("--commit", "--stash")])
def test_a_change_is_either_committed_or_stashed(refused: Refusal, options: tuple[str, str]) -> None:
    assert "give --commit or --stash, not both" in refused("resume", "work", *options, code=2)


async def test_a_change_of_the_operator_is_stashed_and_the_work_goes_on(bench: Workbench, prloom: Prloom) -> None:
    await blocked_by_a_change(bench)

    ran = prloom("resume", "work", "--stash")
    await bench.tick()

    assert "Stashed from the worktree of work; `git stash apply " in ran.out
    assert bench.commits == ["Make it fast"]
    assert bench.runs() == 1
    assert "fast.py" in bench.project.git("stash", "show", "--include-untracked", "--name-only", "stash@{0}")


async def test_without_either_a_change_that_is_still_there_is_named_and_one_that_is_gone_blocks_no_more(
    bench: Workbench, prloom: Prloom, refused: Refusal
) -> None:
    await blocked_by_a_change(bench)

    assert refused("resume", "work") == (
        "prloom: the worktree of plan work still has changes in files that the next commit changes: fast.py; "
        "`prloom resume work --commit` keeps them on the branch, and `prloom resume work --stash` puts them away\n"
    )

    (bench.worktree / "fast.py").unlink()
    assert prloom("resume", "work").out == "Resumed: work.\n"
    await bench.tick()
    assert bench.commits == ["Make it fast"]


async def test_a_second_resume_after_the_commit_finds_nothing_more_to_commit(bench: Workbench, prloom: Prloom) -> None:
    await blocked_by_a_change(bench)
    bench.project.git("add", ".", cwd=bench.worktree)
    bench.project.git("commit", "-qm", "My own", cwd=bench.worktree)

    ran = prloom("resume", "work", "--commit")

    assert ran.out == "Nothing to commit in the worktree of work.\nResumed: work.\n"


async def test_a_worktree_on_another_branch_is_left_alone(bench: Workbench, refused: Refusal) -> None:
    await blocked_by_a_change(bench)
    bench.project.git("switch", "--quiet", "--detach", cwd=bench.worktree)

    told = refused("resume", "work", "--commit")

    assert "the worktree of plan work is on no branch; end what is unfinished there, and go back with" in told
    assert bench.commits == []


def test_the_worktree_of_a_plan_that_may_be_worked_on_is_left_alone(bench: Workbench, refused: Refusal) -> None:
    (bench.worktree / "mine.txt").write_text("mine\n")

    assert refused("resume", "work", "--stash").endswith(
        "so its worktree may be in use; pause it first: `prloom pause work`\n"
    )
    assert (bench.worktree / "mine.txt").exists()


async def test_the_change_of_a_worker_is_not_taken_for_the_operators(bench: Workbench, prloom: Prloom) -> None:
    bench.script(Run({"fast.py": "fast\n"}, answer=None, code_of_exit=1))
    await bench.tick()
    prloom("pause", "work")

    ran = prloom("resume", "work", "--commit")

    assert ran.out == "Nothing to commit in the worktree of work.\nResumed: work.\n"
    assert bench.commits == []


async def test_a_parked_todo_is_tried_again_with_all_its_attempts(bench: Workbench, prloom: Prloom) -> None:
    bench.script(Run(answer={"outcome": "blocked", "summary": "", "question": "How fast?"}))
    await bench.tick()
    assert bench.boxes == ["- [b] Make it fast"]

    assert prloom("resume", "work").out == "Resumed: work.\n"
    assert (bench.boxes, bench.state.block) == (["- [ ] Make it fast"], None)
    bench.script(Run({"fast.py": "fast\n"}))
    await bench.tick()

    assert bench.commits == ["Make it fast"]


def test_what_to_do_with_changes_is_asked_for_one_plan_and_not_for_all(prloom: Prloom) -> None:
    ran = prloom("resume", "--commit")

    assert (ran.code, ran.err) == (2, "prloom: --commit needs the name of a plan. See `prloom resume --help`.\n")


async def test_a_todo_that_blocked_the_plan_and_was_ended_by_a_person_is_not_tried_again(
    bench: Workbench, prloom: Prloom
) -> None:
    bench.script(Run(answer={"outcome": "blocked", "summary": "It is not clear."}))
    await bench.tick()
    (todo,) = bench.state.todos

    prloom("todo", "work", "drop", todo)
    ran = prloom("resume", "work")
    await bench.tick()

    assert ran.out == "Resumed: work.\n"
    assert bench.commits == []
    assert prloom("todo", "work").out.startswith("dropped")
    assert bench.state.block is None
