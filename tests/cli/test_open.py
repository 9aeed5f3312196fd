"""`prloom open`."""

from __future__ import annotations

import os
from pathlib import Path

import command_server
import executable
import terminal_output
from command_line import Refusal
from stage import Stage


def test_without_a_terminal_it_names_the_worktree(stage: Stage, refused: Refusal) -> None:
    stage.adopt()

    told = refused("open", "pr-7")

    assert f"`prloom open` needs a terminal; the worktree of plan pr-7 is {stage.paths.worktree('pr-7')}" in told


def test_in_a_terminal_it_opens_the_shell_there_and_says_what_comes_next(stage: Stage, tmp_path: Path) -> None:
    (stage.adopt() / "plan.md").write_text("# Fast\n")
    shell = executable.write(tmp_path / "shell", "#!/bin/sh\npwd\n")
    main, terminal = os.openpty()
    environ = {**os.environ, "SHELL": str(shell)}

    opened = command_server.begin_on_terminal(["open", "pr-7"], cwd=stage.root, env=environ, terminal=terminal)

    said = terminal_output.read_all(main).decode()
    assert opened.wait(command_server.LIMIT) == 0, said
    assert f"\r\n{stage.paths.worktree('pr-7')}\r\n" in said
    assert "prloom does not work on it until you leave this shell." in said
    assert "prloom resume pr-7 --commit" in said
