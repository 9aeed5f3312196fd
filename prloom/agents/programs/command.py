"""Any program as an agent: `[agents.command] argv`, the prompt on stdin, the answer on stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import parsing, stream
from prloom.agents.activity import command as activity_lines
from prloom.agents.activity.adapter import MalformedLineError
from prloom.agents.activity.command import CommandAdapter
from prloom.agents.agent import Invocation, LimitReport, ProgramEnding, RunRequest, RunResult, StreamEntry, TokenUsage
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.agents.parsing import ParsedOutput
from prloom.errors import AgentError
from prloom.model.activity import ActivityDraft
from prloom.model.agent_names import Inherited

name: Final = "command"
program: Final = None
sign_in: Final = "give the program of [agents.command] what it signs in with"
resumes: Final = False
session_variables: Final = ()
worktree_files: Final = ()
"""Only the operator knows what such a program reads."""
home_files: Final = ()
activity: Final = CommandAdapter
tool_prefix: Final = None
variables: Final = ("OLLAMA_*",)


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return None: it gets no MCP server."""
    return None


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return none: only the operator knows what such a program reads."""
    return ()


def invocation(request: RunRequest) -> Invocation:
    """Return the configured command line.

    A program given by a relative path is that of the checkout in which prloom was started, never the worktree's. The
    stage and what the run may do stand in PRLOOM_STAGE and PRLOOM_RIGHTS (`read` or `work`; PRLOOM_READ_ONLY says the
    same as `1` or `0`): such a program has no sandbox of prloom's, it has to obey by itself. A model, where one is
    configured, stands in PRLOOM_MODEL.
    """
    if not request.argv or not request.argv[0]:
        raise AgentError(
            f'stage {request.stage} uses the agent "command", but no command is configured;'
            ' set argv = ["./my-agent"] under [agents.command] in prloom.toml'
        )
    first, *rest = request.argv
    if "/" in first:
        first = str(request.root / first)
    only_reads = {"read": "1", "work": "0"}[request.rights]
    env = {"PRLOOM_STAGE": request.stage, "PRLOOM_RIGHTS": request.rights, "PRLOOM_READ_ONLY": only_reads}
    if request.model:
        env["PRLOOM_MODEL"] = request.model
    return Invocation(argv=(first, *rest), env=env)


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return None: only the operator knows how such a program talks with a person."""
    return None


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return None: what such a program prints is its answer, and any words may stand in it."""
    return None


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return the line: all that such a program prints is its message, but for what it reports of its activity.

    Of that, the uses of tools are shown, as those of other programs are.
    """
    if activity_lines.is_activity(line):
        return _reported(line)
    if line.strip():
        return (StreamEntry(kind="text", text=line.rstrip("\n")),)
    return ()


def _reported(line: str) -> tuple[StreamEntry, ...]:
    try:
        (draft,) = CommandAdapter().read_line(line) or (None,)
    except MalformedLineError:
        return ()
    match draft:
        case ActivityDraft(type="TOOL_CALL_START", data={"toolName": str(tool), "arguments": dict(given)}):
            return (stream.call(tool, given),)
        case ActivityDraft(type="TOOL_CALL_END", data={"success": True, "result": result}):
            return (stream.result(_text(result), failed=False),)
        case ActivityDraft(type="TOOL_CALL_END", data={"error": error, "result": result}):
            return (stream.result(error or _text(result), failed=True),)
    return ()


def _text(result: object) -> str:
    """Return the result of a call, which may be any JSON."""
    if result is None:
        return ""
    if isinstance(result, str):
        return result
    return json.dumps(result, ensure_ascii=False)


def least_used(output: str) -> TokenUsage | None:
    """Return None: it counts nothing."""
    return None


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result: everything printed on stdout is the final message, and exit code 0 is the closing result."""
    said = "\n".join(line for line in output.split("\n") if not activity_lines.is_activity(line))
    return parsing.conclude(ParsedOutput(message=said.strip(), closed=True), ending)
