"""Run a check of the operator in a plan's worktree as agents are run: watched, within limits, and to its end.

It is no agent that a stage can use. Its request's `argv` is the check's command line; it has no prompt, and its exit
code says whether it passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents.activity.command import CommandAdapter
from prloom.agents.agent import Invocation, LimitReport, ProgramEnding, RunRequest, RunResult, StreamEntry, TokenUsage
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.model.agent_names import Inherited

name: Final = "check"
program: Final = None
sign_in: Final = ""
resumes: Final = False
session_variables: Final = ()
worktree_files: Final = ()
home_files: Final = ()
activity: Final = CommandAdapter
tool_prefix: Final = None
variables: Final = ()

SHOWN: Final = 16_000
"""Characters of the end of a failing check's output that the worker is shown."""


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return None: it gets no MCP server."""
    return None


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return none."""
    return ()


def invocation(request: RunRequest) -> Invocation:
    """Return the shell's command line; what goes to stderr is part of the output."""
    return Invocation(argv=("/bin/sh", "-c", "exec 2>&1\n" + "\n".join(request.argv)))


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return None: a check talks with nobody."""
    return None


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return None: a check meets no limit of a model's server."""
    return None


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return the line: a check may print anything."""
    if line.strip():
        return (StreamEntry(kind="text", text=line.rstrip("\n")),)
    return ()


def least_used(output: str) -> TokenUsage | None:
    """Return None: a check uses no model."""
    return None


def read(output: str, ending: ProgramEnding) -> RunResult:
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
