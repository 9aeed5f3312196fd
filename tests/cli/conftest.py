"""A repository whose dispatcher the test plays, and the command line run in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)  # enough to be found by; the plans of a stage have no worktrees of git's
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
