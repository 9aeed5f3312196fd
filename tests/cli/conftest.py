"""A repository whose dispatcher the test plays, and the command line run in it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import click
import command_line
import git_folder
import pytest
from command_line import Prloom, Ran, Refusal
from stage import Stage

from prloom.cli import main


class Screen(io.StringIO):
    """What a command writes to a terminal."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return the lines without their colours."""
        return click.unstyle(self.getvalue()).splitlines()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    root = tmp_path / "repo"
    git_folder.make(root / ".git")  # the plans of a stage have no worktrees of git's
    return Stage(root)


@pytest.fixture
def prloom(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Prloom:
    """Run a command line of prloom in the repository, as its entry point does."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TZ", "UTC")

    def run(*args: str, stdin: bytes | str = "") -> Ran:
        return command_line.run("-C", str(stage.root), *args, stdin=stdin)

    return run


@pytest.fixture
def refused(prloom: Prloom) -> Refusal:
    """Run a command line that fails, or is wrong where the exit code is to be 2, and return what it says on stderr."""

    def run(*args: str, code: int = 1, stdin: bytes | str = "") -> str:
        ran = prloom(*args, stdin=stdin)
        assert (ran.code, ran.out) == (code, "")
        return ran.err

    return run


@pytest.fixture
def on_terminal(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run a command line on a terminal with so many columns, and return the lines that it shows."""
    monkeypatch.setenv("TZ", "UTC")

    def run(columns: int, *args: str, answers: str = "") -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        screen = Screen()
        monkeypatch.setattr("sys.stdin", Screen(answers))
        with contextlib.redirect_stdout(screen):
            main.run(main.cli, ["-C", str(stage.root), *args])
        return screen.lines()

    return run
