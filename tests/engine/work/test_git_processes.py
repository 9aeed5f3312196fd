"""The work on a TODO starts few git processes: each costs milliseconds, and hundreds of plans share one machine."""

from __future__ import annotations

import os
import shutil
from itertools import pairwise
from pathlib import Path

import executable
import pytest
from workbench import Run, Workbench

MOST = 24
"""With a remote and a check: two fetches and a push among them."""

COUNTING = """#!/bin/sh
echo "$@" >> "{file}"
exec {git} "$@"
"""


@pytest.fixture
def count(bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Count the git processes of prloom from now on; return the file that has a line for each."""
    file = tmp_path / "started"
    (tmp_path / "counting").mkdir()
    executable.write(tmp_path / "counting/git", COUNTING.format(file=file, git=shutil.which("git")))
    monkeypatch.setenv("PATH", f"{tmp_path / 'counting'}:{os.environ['PATH']}")
    return file


async def test_a_todo_with_a_check_and_a_push_starts_few_git_processes(bench: Workbench, count: Path, tmp_path: Path):
    origin = tmp_path / "origin.git"
    bench.project.git("init", "--quiet", "--bare", str(origin))
    bench.project.git("remote", "add", "origin", str(origin))
    bench.project.git("push", "--quiet", "origin", "main", "work")
    bench.configure('checks = ["true"]')
    made = ({"outcome": "done", "summary": "x", "commitMessage": f"Add {name}"} for name in "abc")
    bench.script(*(Run({f"{name}.py": "x\n"}, answer=answer) for name, answer in zip("abc", made, strict=True)))
    bench.todo("- [ ] Add a", "- [ ] Add b", "- [ ] Add c")
    ends = [0]
    bench.employ()
    async with bench.stage.rounds() as again:
        for _ in range(3):
            await again()
            ends.append(len(commands(count)))

    assert bench.commits == ["Add a", "Add b", "Add c"]
    later = [commands(count)[begin:end] for begin, end in pairwise(ends)][1:]
    assert [len(each) for each in later if len(each) > MOST] == [], "\n".join(later[-1])


def commands(count: Path) -> list[str]:
    """Return the git commands that were started so far."""
    return [" ".join(words(line)) for line in count.read_text().splitlines()]


def words(line: str) -> list[str]:
    """Return what stands in a command line of prloom's git behind its options and settings."""
    found = line.split()
    last = max((number for number, word in enumerate(found) if word == "-c"), default=-2)
    return [word for word in found[last + 2 :] if not word.startswith("-")][:2]
