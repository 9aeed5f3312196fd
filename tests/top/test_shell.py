"""The key that opens a worktree in a shell, in a terminal, and where there is none."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import command_server
import executable
from stage import Stage
from top_screen import app, pane, screen, until

PATIENCE = 60.0
"""Seconds without any output."""


def read_until(terminal: int, seen: Callable[[bytes], bool]) -> None:
    """Read what is drawn until it is as the test waits for."""
    drawn = b""
    while not seen(drawn):
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        assert ready, drawn[-2000:]
        drawn += os.read(terminal, 65536)


def read_to_end(terminal: int) -> None:
    """Read what is still drawn until the program is gone: it could not end while nobody reads that."""
    with suppress(OSError):  # a pseudo-terminal's way to say that nobody writes any more
        while select.select([terminal], [], [], PATIENCE)[0] and os.read(terminal, 65536):
            pass


def test_a_worktree_is_opened_in_a_shell_and_the_screen_comes_back(stage: Stage, tmp_path: Path) -> None:
    (stage.adopt() / "plan.md").write_text("# Fast\n")
    shell = executable.write(tmp_path / "shell", "#!/bin/sh\necho in: $PWD\n")
    ours, theirs = os.openpty()
    environ = {**os.environ, "SHELL": str(shell), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    shown = command_server.begin_on_terminal(["top"], cwd=stage.root, env=environ, terminal=theirs)
    try:
        read_until(ours, lambda drawn: b"pr-7" in drawn and b"? help" in drawn)
        os.write(ours, b"\t\t\t")
        read_until(ours, lambda drawn: b"about: pr-7" in drawn)
        os.write(ours, b"o")
        entered = f"in: {stage.paths.worktree('pr-7')}".encode()
        read_until(ours, lambda drawn: b"? help" in drawn.partition(entered)[2])
        os.write(ours, b"q")
        read_to_end(ours)
        assert shown.wait(PATIENCE) == 0
    finally:
        shown.kill()
        os.close(ours)


async def test_where_there_is_no_terminal_for_a_shell_the_screen_says_so(stage: Stage) -> None:
    (stage.adopt() / "plan.md").write_text("# Fast\n")
    shown = app(stage.paths)
    async with shown.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 1)
        await pilot.press("tab", "tab", "tab", "o")
        await until(pilot, lambda: "no shell in this terminal; use `prloom open" in screen(shown))
