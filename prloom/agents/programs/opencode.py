"""opencode: `opencode run`, seen with 1.18.33.

Sources: `opencode run --help`; https://opencode.ai/docs/permissions, /config and /agents; the recorded streams of the
tests. Tried by hand with 1.18.33: its `plan` agent keeps the shell, so it is not read-only; `OPENCODE_PERMISSION` gives
way to an agent's permissions in the user's own settings; an agent of our own in `OPENCODE_CONFIG_CONTENT` holds.
Without `OPENCODE_DISABLE_PROJECT_CONFIG` a worktree's `opencode.json` and `.opencode/plugin/*.js` run, unasked.

A run starts every MCP server that the operator has configured, and waits for it, unless it is switched off by its name.

There is no closing event: a run is done when its last step finished for a good reason. A server's 500 is retried in
silence and a cut stream for ever; only the run's limits end those. A 429 is waited for in silence as long as its
`retry-after` says; only the program's log tells of it, so the log's errors are printed to stderr.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from prloom.agents import command_line, commented_json, error_kinds, limits, mcp_server, parsing, stream
from prloom.agents.activity.opencode import TOOL_PREFIX, OpencodeAdapter
from prloom.agents.agent import (
    Invocation,
    LimitReport,
    ProgramEnding,
    Rights,
    RunRequest,
    RunResult,
    StreamEntry,
    TokenUsage,
)
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.agents.parsing import ParsedOutput
from prloom.agents.sandbox import HomeFile
from prloom.model.agent_names import Inherited
from prloom.model.own_folder import OWN_FOLDER
from prloom.model.record import JsonObject

name: Final = "opencode"
program: Final = "opencode"
sign_in: Final = "run `opencode auth login`"
resumes: Final = True
session_variables: Final = ()
worktree_files: Final = (
    "AGENTS.md",
    "CLAUDE.md",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/**",
    ".claude/**",
    ".agents/**",
)
home_files: Final = (
    HomeFile(".local/share/opencode/", "write"),
    HomeFile(".cache/opencode/", "write"),
    HomeFile(".config/opencode/"),
)
activity: Final = OpencodeAdapter
tool_prefix: Final = TOOL_PREFIX
# It speaks to every provider; these are the keys and addresses of the usual ones.
variables: Final = (
    "OPENCODE_*",
    "ANTHROPIC_*",
    "OPENAI_*",
    "GEMINI_*",
    "GOOGLE_*",
    "OPENROUTER_*",
    "MISTRAL_*",
    "GROQ_*",
    "DEEPSEEK_*",
    "XAI_*",
)

_FILES = {"*": "allow", f"{OWN_FOLDER}/*": "deny", f"*/{OWN_FOLDER}/*": "deny"}
_READING = {"*": "deny", "read": _FILES, "glob": "allow", "grep": "allow", "list": "allow"}
_AGENTS: Mapping[Rights, tuple[str, Mapping[str, object]]] = {
    "read": ("prloom-read-only", _READING),
    "work": ("prloom-worker", {**_READING, "edit": _FILES, "bash": "allow"}),
}
"""An agent of prloom's own for each of the rights: its name, and its permissions. What would ask ends the run."""

_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}
_NO_MEMORY = {"OPENCODE_DISABLE_CLAUDE_CODE": "1", "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1"}
_NO_PLUGINS = {"OPENCODE_PURE": "1"}
_SETTINGS = ("config.json", "opencode.json", "opencode.jsonc")
_NO_WORD = re.compile(r"[^A-Za-z0-9_-]")
"""What is not kept of a server's name in the names of its tools."""
_UNFINISHED = frozenset({"tool-calls", "unknown", "error", "length", "content-filter"})

_REFUSED = frozenset({None, 400, 402, 403, 429})
"""The statuses with which servers refuse where an allowance is used up; which of them is meant, the words say."""

_WORTH_WAITING = timedelta(minutes=1)
"""A shorter Retry-After is a rate limit, which the usual backoff covers; a longer one is a used-up allowance."""


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return nothing more: it takes the server as it is."""
    return ServerSettings()


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files in which MCP servers may be configured, whose names are needed to switch them off."""
    home = Path(environ.get("HOME") or Path.home())
    folders = [Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode", home / ".opencode"]
    folders += [Path(folder) for folder in (environ.get("OPENCODE_CONFIG_DIR"),) if folder]
    named = [Path(file) for file in (environ.get("OPENCODE_CONFIG"),) if file]
    files = (*(folder / name for folder in folders for name in _SETTINGS), *named)
    return tuple(path for path in files if path.is_absolute())


def invocation(request: RunRequest) -> Invocation:
    """Return the headless command line; without a message it reads the prompt from stdin."""
    agent, permission = _AGENTS[request.rights]
    servers: dict[str, object] = {}
    own = [name for name in _configured(request.settings) if name != mcp_server.NAME]
    if "mcp" in request.inherit:
        permission = {**permission, **{f"{_NO_WORD.sub('_', name)}_*": "allow" for name in own}}
    else:
        servers = {name: {"enabled": False} for name in own}
    config: dict[str, object] = {"mcp": servers}
    if request.server is not None:
        permission = {**permission, f"{tool_prefix}*": "allow"}
        servers[mcp_server.NAME] = _own_server(request.server)
        config["experimental"] = {"mcp_timeout": request.server.call_limit_ms}
    config["agent"] = {agent: {"mode": "primary", "permission": permission}}
    session = ("--session", request.session) if request.session else ()
    model = ("--model", request.model) if request.model else ()
    # Without a title it asks a small model for one, which gets the prompt and may be another provider's.
    title = ("--title", f"prloom {request.stage}")
    logs = ("--print-logs", "--log-level", "ERROR")
    argv = ("opencode", "run", "--format", "json", *title, *logs, "--agent", agent, *session, *model)
    env = _QUIET | {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
    if "memory" not in request.inherit:
        env |= _NO_MEMORY
    if "hooks" not in request.inherit:
        env |= _NO_PLUGINS
    return Invocation(argv=argv, env=env)


def _configured(settings: Mapping[Path, str]) -> tuple[str, ...]:
    """Return the names of the MCP servers that the operator has configured."""
    return tuple({name: None for text in settings.values() for name in parsing.obj(commented_json.read(text), "mcp")})


def _own_server(server: McpServer) -> dict[str, object]:
    """Return the entry of prloom's server; its environment names the file that has the token."""
    return {
        "type": "local",
        "command": list(server.command),
        "environment": {mcp_server.CONFIG_VARIABLE: str(server.config)},
        "enabled": True,
        "timeout": max(server.call_limit_ms, mcp_server.START_LIMIT_MS),
    }


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return the command line for a person's terminal."""
    resumed, first = command_line.option("--session", session), command_line.option("--prompt", prompt)
    return (program, *resumed, *command_line.option("--model", model), *first)


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return the limit that an error of the stream or of the log tells of."""
    if stderr:
        logged = _logged(line)
        if logged:
            return error_kinds.refusal(logged, at)
        return None
    if '"error"' not in line:
        return None
    event = next(parsing.events(line), parsing.NOTHING)
    if event.get("type") != "error":
        return None
    about = parsing.obj(event, "error", "data")
    said = f"{parsing.text(about, 'message') or ''} {parsing.text(about, 'responseBody') or ''}"
    found = error_kinds.refusal(said, at, status=parsing.count(about, "statusCode"))
    retry_at = _retry_at(about, at)
    if found is None or retry_at is None:
        return found
    return LimitReport(trouble="usage_limit", message=found.message, retry_at=retry_at)


def _logged(line: str) -> str | None:
    """Return what the model's server said, from a line of the log about a call that failed; None for any other line."""
    if " level=ERROR " not in line or ' message="stream error" ' not in line:
        return None
    _, found, said = line.partition(' error.error="AI_')
    if found:
        return said.partition(": ")[2].removesuffix('"')
    return None


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return what a line of the `--format json` output tells; a tool is told of when it is over."""
    event = next(parsing.events(line), parsing.NOTHING)
    part = parsing.obj(event, "part")
    match event.get("type"):
        case "text":
            return (StreamEntry(kind="text", text=parsing.text(part, "text") or ""),)
        case "tool_use":
            state = parsing.obj(part, "state")
            said = parsing.text(state, "error") or parsing.text(state, "output") or ""
            used = stream.call(parsing.text(part, "tool") or "?", parsing.obj(state, "input"))
            return (used, stream.result(said, failed=state.get("status") == "error"))
        case "error":
            error = parsing.obj(event, "error")
            said = parsing.text(parsing.obj(error, "data"), "message") or parsing.text(error, "name") or "it failed"
            return (StreamEntry(kind="error", text=said),)
        case _:
            return ()


def least_used(output: str) -> TokenUsage | None:
    """Return None: it counts what the run used."""
    return None


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result of a `--format json` output."""
    session: str | None = None
    started = 0
    steps: list[JsonObject] = []
    texts: dict[str, list[str]] = {}
    error: JsonObject | None = None
    for event in parsing.events(output):
        session = parsing.text(event, "sessionID") or session
        part = parsing.obj(event, "part")
        match event.get("type"):
            case "step_start":
                started += 1
                error = None
            case "step_finish":
                steps.append(part)
            case "text":
                texts.setdefault(parsing.text(part, "messageID") or "", []).append(parsing.text(part, "text") or "")
            case "error":
                error = parsing.obj(event, "error")
    closed = bool(steps) and started == len(steps) and parsing.text(steps[-1], "reason") not in _UNFINISHED
    reading = ParsedOutput(
        message="".join(list(texts.values())[-1]) if texts else "",
        closed=closed,
        usage=_usage(steps) if steps and started == len(steps) else None,
        cost_usd=_cost(steps),
        session_id=session,
        turns=len(steps) or None,
    )
    if error is not None:
        reading = _failed(reading, error, ending)
    elif not closed:
        reading = _complained(reading, ending)
    return parsing.conclude(reading, ending)


def _complained(reading: ParsedOutput, ending: ProgramEnding) -> ParsedOutput:
    """Return the reading of a stream that broke off with the last error that the log tells of, if it tells of one."""
    said = [logged for line in ending.stderr.splitlines() if (logged := _logged(line))]
    if not said:
        return reading
    trouble = error_kinds.of_text(said[-1])
    return replace(reading, error=said[-1], trouble="server" if trouble == "error" else trouble)


def _failed(reading: ParsedOutput, error: JsonObject, ending: ProgramEnding) -> ParsedOutput:
    """Return the reading with what the error event says."""
    about = parsing.obj(error, "data")
    message = parsing.text(about, "message") or parsing.text(error, "name") or "unknown error"
    status = parsing.count(about, "statusCode")
    body = parsing.text(about, "responseBody") or ""
    retry_at = _retry_at(about, ending.at)
    trouble = error_kinds.of_status(status) or error_kinds.of_text(message)
    is_used_up = error_kinds.of_text(f"{message} {body}") == "usage_limit"
    if (trouble == "rate_limit" and retry_at) or (is_used_up and status in _REFUSED):
        trouble = "usage_limit"
    return replace(reading, error=message, trouble=trouble, retry_at=retry_at)


def _retry_at(about: JsonObject, at: datetime) -> datetime | None:
    """Return when to come again, from the `retry-after` header in seconds, where it names a wait and not a hiccup."""
    after = parsing.text(parsing.obj(about, "responseHeaders"), "retry-after") or ""
    if not (after.isascii() and after.isdigit()) or len(after) > len("86400000"):
        return None
    wait = timedelta(seconds=int(after))
    if wait >= _WORTH_WAITING:
        return limits.sensible(at + wait, at)
    return None


def _usage(steps: list[JsonObject]) -> TokenUsage:
    tokens = [parsing.obj(step, "tokens") for step in steps]
    cached = sum(parsing.count(parsing.obj(each, "cache"), "read") or 0 for each in tokens)
    fresh = sum(
        (parsing.count(each, "input") or 0) + (parsing.count(parsing.obj(each, "cache"), "write") or 0)
        for each in tokens
    )
    written = sum((parsing.count(each, "output") or 0) + (parsing.count(each, "reasoning") or 0) for each in tokens)
    return TokenUsage(input_tokens=fresh + cached, output_tokens=written, cached_tokens=cached)


def _cost(steps: list[JsonObject]) -> float | None:
    """Return what the steps cost; 0 is what it says for a model without a price, so 0 means that nobody knows."""
    return sum(parsing.amount(step, "cost") or 0 for step in steps) or None
