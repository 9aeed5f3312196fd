"""Programs are found in the absolute folders of PATH, and not where prloom happens to run."""

from __future__ import annotations

import os
from pathlib import Path

import executable
import pytest

from prloom import programs
from prloom.errors import ExtensionError
from prloom.extensions.background import environment
from prloom.transport import token
from prloom.transport.token import NoTokenError


@pytest.fixture
def worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a worktree, to which a branch has brought a program."""
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    executable.write(worktree / "gh", "#!/bin/sh\ntouch obeyed\necho ghp_of_the_branch\n")
    monkeypatch.chdir(worktree)
    return worktree


def test_relative_entries_of_path_do_not_count(worktree: Path) -> None:
    path = os.pathsep.join([".", "", "bin", "/nowhere"])

    assert programs.absolute_path({"PATH": path}) == "/nowhere"
    assert programs.locate("gh", {"PATH": path}) is None
    assert programs.locate("gh", {"PATH": "."}) is None
    assert programs.locate("gh", {"PATH": f".{os.pathsep}{worktree}"}) == str(worktree / "gh")
    assert programs.locate(str(worktree / "gh"), {"PATH": ""}) == str(worktree / "gh")


@pytest.mark.parametrize("path", [".", "", ":{bin}", ".:{bin}"])
def test_the_program_that_keeps_a_token_is_not_one_of_the_branch(worktree: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "bin").mkdir()
    environ = {"PATH": path.format(bin=tmp_path / "bin")}

    with pytest.raises(NoTokenError, match="make sure that `gh auth token` prints one"):
        token.find((), ("gh", "auth", "token"), environ)

    assert not (worktree / "obeyed").exists()


def test_the_operators_program_is_asked_though_a_relative_entry_comes_first(worktree: Path, tmp_path: Path) -> None:
    keeper = executable.write(tmp_path / "bin/gh", "#!/bin/sh\necho of the operator\n")

    assert token.find((), ("gh", "auth", "token"), {"PATH": f".:{keeper.parent}"}).text == "of the operator"
    assert not (worktree / "obeyed").exists()


def test_the_program_of_a_daemon_is_not_one_of_the_branch(worktree: Path) -> None:
    with pytest.raises(ExtensionError, match="there is no program gh on PATH"):
        environment.program("gh", [], worktree / "plugin", {"PATH": "."})
