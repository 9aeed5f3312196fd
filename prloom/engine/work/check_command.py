"""Run a check of the operator in a plan's worktree as agents are run: watched, within limits, and to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import command
from prloom.agents.agent import Ending, Invocation, LimitReport, RunRequest, RunResult, StreamEntry

SHOWN: Final = 16_000
"""Characters of the end of a failing check's output that the worker is shown."""


@dataclass(frozen=True)
class CheckCommand:
    """A check as a program to be run: it has no prompt, and its exit code says whether it passed."""

    command: str
    name: str = "check"
    program: str | None = None
    variables: tuple[str, ...] = ()
    resumes: bool = False
    counts_sessions: bool = False

    def settings_files(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return none."""
        return ()

    def invocation(self, request: RunRequest) -> Invocation:
        """Return the shell's command line; what goes to stderr is part of the output."""
        return Invocation(argv=("/bin/sh", "-c", f"exec 2>&1\n{self.command}"))

    def refusal(self, line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
        """Return None: a check meets no limit of a model's server."""
        return None

    def entries(self, line: str) -> tuple[StreamEntry, ...]:
        """Return the line."""
        return command.entries(line)

    def read(self, output: str, ending: Ending) -> RunResult:
        """Return whether the check passed, with the end of its output."""
        said = output[-SHOWN:]
        match ending.ended_by:
            case "exit" if ending.code == 0:
                return RunResult(status="ok", message=said)
            case "exit" if ending.code < 0:
                error = f"it was ended by signal {-ending.code}"
            case "exit":
                error = f"it ended with exit code {ending.code}"
            case "timeout" | "silence":
                error = "it took too long and was stopped"
            case "output":
                error = "it printed too much and was stopped"
            case "terminated":
                return RunResult(status="interrupted", message=said, error="prloom stopped while the check ran")
            case _:
                error = "it failed"
        return RunResult(status="failed", message=said, trouble="error", error=error)
