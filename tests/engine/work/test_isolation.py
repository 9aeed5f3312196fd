"""Neither does what an operator does meanwhile cost an attempt, nor what a worker does to its own repository."""

from __future__ import annotations

import pytest
from workbench import Run, Workbench

DONE = {"outcome": "done", "summary": "Done.", "commitMessage": "Do it"}

OPERATOR = """
git checkout -q mine 2>/dev/null || git checkout -q -b mine
echo "edit {number}" >> notes.txt && git add notes.txt
git commit -q -m "mine {number}" && echo "more {number}" >> notes.txt && git stash -q
echo "open {number}" > scratch.txt && git config user.note {number} && git branch -f side{number}
git gc -q --prune=now && git checkout -q main
"""
"""What an operator does in the own checkout while an agent works."""


async def test_an_operator_may_do_anything_in_the_own_checkout_while_ten_todos_are_worked_on(bench: Workbench):
    root = bench.project.root
    runs = []
    for number in range(10):
        does = OPERATOR.format(number=number)
        code = f"import subprocess; subprocess.run(['sh', '-ec', {does!r}], cwd={str(root)!r}, check=True)"
        runs.append(Run({f"file{number}.py": "x\n"}, code=code, answer={**DONE, "commitMessage": f"Add {number}"}))
    bench.script(*runs)
    bench.todo(*(f"- [ ] Add {number}" for number in range(10)))

    await bench.ticks(10)

    assert bench.commits == [f"Add {number}" for number in range(10)]
    assert bench.runs() == 10
    assert bench.state.block is None
    git = bench.project.git
    assert git("log", "--format=%s", "main..mine").splitlines() == [f"mine {number}" for number in range(9, -1, -1)]
    assert len(git("stash", "list").splitlines()) == 10
    assert (root / "scratch.txt").read_text() == "open 9\n"
    assert git("config", "user.note") == "9"
    assert git("for-each-ref", "--format=%(refname:short)", "refs/heads/side*").split() == [
        f"side{n}" for n in range(10)
    ]


HOOK = "mkdir -p .git/hooks && printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"


@pytest.mark.parametrize(
    "does",
    [
        "git config core.hooksPath .husky/_",
        HOOK,
        "git submodule update --init",
        "git lfs install --local || true",
        "echo x >> FILE && git stash -q && git stash pop -q",
        "git stash pop; true",
        "git worktree add -q inner -b inner",
        "git add FILE && git commit -q -m mine",
        "git checkout -q -b other",
        "git config user.name Somebody && git config core.worktree /nowhere",
        "git clean -q -ffdx && printf 'x\\n' > FILE",
        "rm -rf .git",
        "rm -rf .git && git init -q && git add -A && git commit -q -m mine",
        "git rebase -q --root && git reset -q --soft HEAD",
        "git update-ref -d refs/heads/work; git tag v9; git gc -q --prune=now",
        "git remote remove origin; git remote add origin /nowhere",
    ],
)
async def test_what_a_worker_does_to_its_repository_costs_no_attempt(bench: Workbench, does: str):
    runs = []
    for name in ("one", "two"):
        code = f"import subprocess; subprocess.run(['sh', '-c', {does.replace('FILE', f'{name}.py')!r}], check=False)"
        runs.append(Run({f"{name}.py": "x\n"}, code=code, answer=DONE))
    bench.script(*runs)

    await bench.work_on("- [ ] One", "- [ ] Two", ticks=2)

    assert (bench.runs(), len(bench.commits)) == (2, 2)
    assert bench.project.git("diff", "--name-only", "main", "work").split() == ["one.py", "two.py"]
