"""What a worker leaves behind is committed as it was inspected, or not at all: with real git and real runs."""

from __future__ import annotations

import executable
from workbench import FAST, Run, Workbench

from prloom.workspace import commits, repository, snapshot, worktree_files

TOKEN = "ghp_" + "q7Lx" + "0ZtR4mVb2KwY8sNd" * 2


def a_hook(bench: Workbench, name: str, text: str) -> None:
    executable.write(bench.project.root / ".git" / "hooks" / name, f"#!/bin/sh\n{text}\n")


async def test_hooks_of_the_repository_run_only_where_the_operator_says_so(bench: Workbench):
    a_hook(bench, "pre-commit", "grep -q really fast.py || { echo not really; exit 1; }")
    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]


async def test_a_hook_that_refuses_twice_alike_parks_the_todo_with_what_it_wrote(bench: Workbench):
    bench.configure("git_hooks = true")
    a_hook(bench, "pre-commit", "echo not really; exit 1")
    answer = {"outcome": "done", "summary": "x", "commitMessage": "Be fast"}
    bench.script(*(Run({"fast.py": f"{number}\n"}, answer=answer) for number in range(3)))

    await bench.work_on("- [ ] Make it fast", ticks=3)

    assert bench.runs() == 2
    assert "no progress: two attempts in a row ended alike: the hook pre-commit refused" in bench.block.reason
    assert "not really" in bench.block.reason


async def test_a_hook_that_refuses_a_commit_goes_back_to_the_worker(bench: Workbench):
    bench.configure("git_hooks = true")
    a_hook(bench, "pre-commit", "grep -q really fast.py || { echo not really; exit 1; }")
    bench.script(FAST, Run({"fast.py": "really fast\n"}, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert bench.shown("fast.py") == "really fast"
    assert "the hook pre-commit refused the commit: it ended with exit code 1\nnot really" in bench.prompt(1)


async def test_a_hook_sees_the_commit_in_the_clone_and_does_not_change_it(bench: Workbench):
    bench.configure("git_hooks = true")
    seen = bench.home / "seen"
    a_hook(
        bench, "pre-commit", f"pwd > {seen}; git diff --cached --name-only >> {seen}; echo y > fast.py; git add fast.py"
    )

    await bench.make_it_fast()

    assert seen.read_text().splitlines() == [str(bench.project.root / "prloom/.local/clones/work"), "fast.py"]
    assert bench.shown("fast.py") == "fast"


async def test_a_hook_may_add_to_the_message_but_not_take_prlooms_trailers_away(bench: Workbench):
    bench.configure("git_hooks = true", "[limits]\nmax_attempts = 1\n")
    a_hook(bench, "commit-msg", 'echo "Change-Id: I1" >> "$1"')
    await bench.make_it_fast()

    message = bench.project.git("log", "-1", "--format=%B", "work")
    assert message.endswith("Change-Id: I1")
    assert "Prloom-Plan: work" in message

    a_hook(bench, "commit-msg", 'echo "mine" > "$1"')
    bench.script(Run({"small.py": "x\n"}, answer=FAST.answer))
    await bench.work_on("- [ ] Make it small")

    assert "a hook for commit messages has changed the trailers of prloom" in bench.block.reason


async def test_hooks_of_the_pull_request_do_not_run(bench: Workbench):
    bench.configure("git_hooks = true")
    bench.project.git("config", "core.hooksPath", "tools/hooks")
    mark = bench.home / "theirs"
    hook = f"#!/bin/sh\ntouch {mark}\n"
    code = f"os.makedirs('tools/hooks'); Path('tools/hooks/pre-commit').write_text({hook!r})\n"
    code += "os.chmod('tools/hooks/pre-commit', 0o755)\n"
    bench.script(Run(FAST.files, code=code, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert not mark.exists()


async def test_a_secret_in_a_change_is_a_violation_and_one_in_its_message_is_masked(bench: Workbench):
    said = {**FAST.answer, "commitMessage": f"Be fast with {TOKEN}"}
    bench.script(Run({"fast.py": f"key = '{TOKEN}'\n"}, answer=FAST.answer), Run({"fast.py": "fast\n"}, answer=said))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast with [secret]"]
    assert "fast.py contains a GitHub token" in bench.prompt(1)


CI = "Path('.GITHUB/Workflows').mkdir(parents=True); Path('.GITHUB/Workflows/ci.yml').write_text('x')"
WRONG = {
    "os.symlink('/etc/passwd', 'link')": "link is a symbolic link to /etc/passwd, which is outside",
    CI: ".GITHUB/Workflows/ci.yml was added, and .github/workflows/** is protected",
    "Path('prloom').mkdir(exist_ok=True); Path('prloom/worker.md').write_text('x')": "prloom's own folder",
    "os.system('git init -q inner')": "inner was added, and is a submodule or another repository",
}


async def test_what_a_worker_must_not_do_goes_back_to_it_and_is_not_committed(bench: Workbench):
    own = "os.system('git tag v1; git branch mine; git config core.sshCommand evil')"  # of the clone, which is its own
    code = "\n".join([*WRONG, own])
    bench.script(
        Run({"fast.py": "fast\n"}, code=code, answer=FAST.answer),
        Run(code="os.system('git stash -u -q'); Path('fast.py').write_text('fast')", answer=FAST.answer),
    )

    await bench.work_on("- [ ] Make it fast")

    assert [said for said in WRONG.values() if said not in bench.prompt(1)] == []
    names = bench.project.git("log", "--name-only", "--format=", "main..work").split()
    assert names in ([], ["fast.py"])
    assert bench.project.git("for-each-ref", "refs/heads/mine") == ""
    assert bench.project.git("config", "--default", "", "core.sshCommand") == ""


async def test_a_worker_that_commits_and_moves_its_branch_makes_one_commit_of_prlooms(bench: Workbench):
    code = "os.system('git add fast.py && git commit -q -m mine && git commit -q --allow-empty -m more')"
    bench.script(Run({"fast.py": "fast\n"}, code=code, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert bench.shown("fast.py") == "fast"
    assert bench.project.git("symbolic-ref", "HEAD", cwd=bench.worktree) == "refs/heads/work"


async def test_a_move_of_the_worktree_that_was_broken_off_blocks_no_plan(bench: Workbench):
    repo = repository.find(bench.project.root)
    base = bench.project.git("rev-parse", "work")
    theirs = bench.project.git(
        "commit-tree", "-m", "theirs", "-p", "work", bench.project.git("rev-parse", "work^{tree}")
    )
    worktree_files.note_move(snapshot.require(repo, bench.worktree), base, theirs)
    commits.move(repo, "work", to=theirs, expected=base)
    (bench.worktree / "README.md").write_text("half written\n")
    await bench.make_it_fast()

    assert bench.commits == ["theirs", "Be fast"]
