"""A repository whose dispatcher the test plays, and the command line run in it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import git_folder
import pytest
from click.testing import CliRunner
from stage import Stage

from prloom.cli import main


class Ran(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


Prloom = Callable[..., Ran]


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
        with CliRunner().isolation(input=stdin) as (out, err, _):
            code = main.run(main.cli, ["-C", str(stage.root), *args])
            return Ran(code, out.getvalue().decode(), err.getvalue().decode())

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
