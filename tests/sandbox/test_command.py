"""`prloom sandbox` shows what a worker sees, and `prloom doctor` proves that this is no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import executable
import pytest
from workbench import Workbench

from prloom.agents import sandbox
from prloom.config.models import Config
from prloom.engine import sandbox_checks
from prloom.engine.bus import plans
from prloom.engine.operator import sandboxed_command
from prloom.workspace import repository


def prloom(bench: Workbench, *words: str) -> subprocess.CompletedProcess[str]:
    """Run prloom in the operator's checkout."""
    command = [sys.executable, "-m", "prloom", *words]
    return subprocess.run(command, cwd=bench.project.root, check=False, capture_output=True, text=True)


def test_a_command_runs_in_the_clone_and_sees_nothing_of_the_checkout(bench: Workbench):
    (bench.project.root / "mine.txt").write_text("mine\n")

    seen = prloom(bench, "sandbox", "work", "--", "sh", "-c", f"pwd; git branch; ls -A {bench.project.root}; exit 3")

    clone = bench.project.root / "prloom/.local/clones/work"
    assert (seen.returncode, seen.stderr) == (3, "")
    assert seen.stdout.split("\n") == [str(clone), "* work", ".git", "prloom", ""]


def test_a_program_that_is_not_there_is_one_clear_line(bench: Workbench):
    missing = prloom(bench, "sandbox", "work", "--", "no-such-program")

    assert (missing.returncode, missing.stderr) == (1, "prloom: no-such-program is not on PATH\n")


def test_an_agent_with_which_a_person_talks_is_in_the_sandbox_too(bench: Workbench, tmp_path: Path):
    root = bench.project.root
    before = (root / ".git/config").read_bytes()
    attempts = (
        f"echo '[alias]' >> {root}/.git/config; cp -r {root}/.git .; echo x > {bench.worktree}/x; echo a > new.txt"
    )
    program = executable.write(tmp_path / "bin/claude", f"#!/bin/sh\n({attempts}) 2>/dev/null\nexit 0\n")
    bench.stage.configure('[stages]\nworker = "claude"\n[sandbox]\nmode = "required"\n')
    where = plans.locate(root, bench.stage.config.worktrees_dir)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    assert sandboxed_command.run_agent(where, bench.stage.config, "work", environ) == (0, True)

    assert (root / ".git/config").read_bytes() == before
    assert (bench.worktree / "new.txt").read_text() == "a\n"
    assert not (bench.worktree / "x").exists()


def found(bench: Workbench) -> list[str]:
    """Return what doctor's proof finds."""
    repo = repository.find(bench.project.root)
    return [each.what for each in sandbox_checks.of_proof(Config(), repo, os.environ)]


def test_the_proof_finds_nothing_in_a_sandbox_and_leaves_nothing(bench: Workbench, tmp_path: Path):
    assert found(bench) == []
    assert [name for name in os.listdir(os.environ["HOME"]) if name.startswith(".prloom-doctor")] == []


def test_the_proof_finds_a_sandbox_that_is_none(bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    weak = tmp_path / "weak"
    weak.mkdir()
    (weak / sandbox.PROGRAM).write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n')
    (weak / sandbox.PROGRAM).chmod(0o755)
    monkeypatch.setenv("PATH", f"{weak}:{os.environ['PATH']}")

    (what,) = found(bench)

    assert what.startswith("a run can read your home, the environment of other programs, or the dispatcher's socket")
