"""Whatever is done to a plan's branch may be killed after each git call that changes something, and is done once.

Each run tries every third of these calls, and another third in the next; PRLOOM_WORK_KILLS=all tries all of them, and
PRLOOM_CRASH_TURN=N those of turn N.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.workspace import backup_refs, commits, rebase, rebase_stop, repository, snapshot, worktree
from prloom.workspace.rebase_stop import RebaseStopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Project

MESSAGE = commit_message.write("Do it", title="", trailers=Trailers(plan="p", todo="t1"))
ALL = os.environ.get("PRLOOM_WORK_KILLS") == "all"
TURN = int(os.environ.get("PRLOOM_CRASH_TURN") or random.SystemRandom().randrange(3))
FIRST, STEP = (1, 1) if ALL else (1 + TURN % 3, 3)
CHANGING = "update-ref symbolic-ref read-tree update-index rebase"

# Counts the calls that change more than the object store, and ends the caller after one of them, as a power cut would.
KILLER = """#!/bin/sh
read at < "{folder}/at"
for word in "$@"; do
  case " {changing} " in *" $word "*)
    read count < "{folder}/count"
    count=$((count + 1)); echo $count > "{folder}/count"
    if [ "$count" = "$at" ]; then
      "{git}" "$@" >/dev/null 2>&1
      kill -9 $PPID; exit 137
    fi
    break;;
  esac
done
exec "{git}" "$@"
"""

PROGRAMS = {
    "commit": """
repo = repository.find(root)
commits.recover(repo, place, branch="feature")
if commits.find(repo, "feature", plan="p", todo="t1", tree=args["tree"]) is None:
    commits.commit(repo, place, tree=args["tree"], parent=args["parent"], message=args["message"], branch="feature")
""",
    "integrate": """
repo = repository.find(root)
commits.recover(repo, place, branch="feature")
integrate.integrate(repo, place, "feature", theirs=args["theirs"], before=args["before"])
""",
    "rebase": """
repo = repository.find(root)
commits.recover(repo, place, branch="feature")
rebase.start(repo, place, "feature", onto=args["onto"])
""",
    "resolution": """
repo = repository.find(root)
commits.recover(repo, place, branch="feature")
if rebase.continue_(repo, place, "feature", given=args["resolution"]) is None:
    rebase.start(repo, place, "feature", onto=args["onto"])
""",
}
# Runs the program in a fork of its own for each line that it reads, and says how that ended.
PROGRAM = """
import json, os, sys, traceback
from pathlib import Path
from prloom.workspace import commits, integrate, rebase, repository
args = json.loads(sys.argv[1])
root, place = Path(args["root"]), Path(args["place"])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            exec(args["program"])
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Killed:
    """Runs a program again and again, killed at one call of git the first time."""

    def __init__(self, project: Project, place: Path, folder: Path) -> None:
        self._project = project
        self._place = place
        self._folder = folder
        self._git = folder / "bin"
        self._git.mkdir()
        executable.write(self._git / "git", KILLER.format(changing=CHANGING, folder=folder, git=shutil.which("git")))
        shutil.copytree(project.root, folder / "before", symlinks=True)

    def each(self, program: str, **args: str | None) -> Iterator[int]:
        """Yield the number of the call, once the program that was killed there has been run to its end."""
        env = os.environ | {"PATH": f"{self._git}:{os.environ['PATH']}"}
        given = {"root": str(self._project.root), "place": str(self._place), "program": PROGRAMS[program], **args}
        argv = [sys.executable, "-c", PROGRAM, json.dumps(given)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with (self._folder / "said").open("w") as said, subprocess.Popen(argv, env=env, stderr=said, **pipes) as runs:
            at = FIRST
            while self._run(runs, at=at) != 0:
                assert self._run(runs, at=0) == 0, f"killed after call {at}, and not done by the next run: {self._said}"
                yield at
                self._again()
                at += STEP
            self._again()

    def _again(self) -> None:
        shutil.rmtree(self._project.root)
        shutil.copytree(self._folder / "before", self._project.root, symlinks=True)

    def _run(self, runs: subprocess.Popen[str], *, at: int) -> int:
        (self._folder / "count").write_text("0\n")
        (self._folder / "at").write_text(f"{at}\n")
        assert runs.stdin is not None
        assert runs.stdout is not None
        runs.stdin.write("\n")
        runs.stdin.flush()
        return int(runs.stdout.readline())

    @property
    def _said(self) -> str:
        return (self._folder / "said").read_text()


@pytest.fixture
def base(project: Project, place: Path) -> str:
    """A worktree of `feature` at `place`, and the commit that it is at."""
    return worktree.create(repository.find(project.root), place, "feature")


def clean(project: Project, place: Path) -> bool:
    return project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"


def test_a_commit_is_made_once(project: Project, place: Path, base: str, tmp_path: Path) -> None:
    (place / "new").write_text("x\n")
    (place / "README.md").write_text("changed\n")
    tree = snapshot.take(repository.find(project.root), place, base).tree
    killed = 0

    for _ in Killed(project, place, tmp_path).each("commit", tree=tree, parent=base, message=MESSAGE):
        killed += 1
        assert project.git("rev-list", "--count", f"{base}..feature") == "1"
        assert project.git("rev-parse", "feature^{tree}") == tree
        assert clean(project, place)

    assert killed >= 5 // STEP


def ours(project: Project, place: Path, base: str) -> str:
    repo = repository.find(project.root)
    (place / "ours").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree
    return commits.commit(repo, place, tree=tree, parent=base, message=MESSAGE, branch="feature")


def test_a_fast_forward_is_whole(project: Project, place: Path, base: str, tmp_path: Path) -> None:
    project.git("branch", "theirs", base)
    theirs = project.commit({"theirs": "x\n", "README.md": "theirs\n"}, branch="theirs")

    for _ in Killed(project, place, tmp_path).each("integrate", theirs=theirs, before=base):
        assert project.sha("feature") == theirs
        assert clean(project, place)


def test_a_rebase_of_prlooms_commits_is_whole(project: Project, place: Path, base: str, tmp_path: Path) -> None:
    project.git("branch", "theirs", base)
    theirs = project.commit({"theirs": "x\n"}, branch="theirs")
    made = ours(project, place, base)

    for _ in Killed(project, place, tmp_path).each("integrate", theirs=theirs, before=base):
        assert project.git("log", "--format=%s", f"{theirs}..feature") == "Do it"
        assert clean(project, place)
        assert made in {sha for _, sha in backup_refs.kept_refs(repository.find(project.root), "rebased")}


def test_a_rebase_onto_the_base_is_whole(project: Project, place: Path, base: str, tmp_path: Path) -> None:
    ours(project, place, base)
    onto = project.commit({"README.md": "base\n"})

    for _ in Killed(project, place, tmp_path).each("rebase", onto=onto):
        assert project.git("log", "--format=%s", f"{onto}..feature").splitlines()[0] == "Do it"
        assert clean(project, place)


def test_a_resolution_of_a_conflict_is_taken_over_whole(
    project: Project, place: Path, base: str, tmp_path: Path
) -> None:
    (place / "README.md").write_text("ours\n")
    ours(project, place, base)
    onto = project.commit({"README.md": "base\n"})
    repo = repository.find(project.root)
    stop = rebase.start(repo, place, "feature", onto=onto)
    assert isinstance(stop, RebaseStopped)
    (place / "README.md").write_text("both\n")
    tree = snapshot.take(repo, place, stop.old).tree
    project.git("checkout", "README.md", cwd=place)
    resolution = rebase_stop.resolution(repo, stop, tree)

    for _ in Killed(project, place, tmp_path).each("resolution", resolution=resolution, onto=onto):
        assert project.git("log", "--format=%s", f"{onto}..feature").splitlines()[0] == "Do it"
        assert project.git("cat-file", "blob", "feature:README.md") == "both"
        assert clean(project, place)
