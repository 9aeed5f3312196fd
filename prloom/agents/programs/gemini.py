"""Gemini CLI: `gemini`, seen with 0.61.0.

Sources: `gemini --help`; https://geminicli.com/docs/cli/headless, /cli/trusted-folders and /reference/policy-engine,
and the policies shipped with the program; the recorded streams of the tests. Tried by hand with 0.61.0:

- Headless it refuses to start in a folder that is not trusted. In one that the operator trusts (worktrees below it
  included) a worktree's `.gemini/settings.json` runs its hooks and servers. `--skip-trust` together with a list of
  trusted folders that is empty starts it without either.
- `--approval-mode plan` is not read-only headless: leaving plan mode is approved without asking, and `*.md` may be
  written. A policy of the highest tier takes every tool away but the reading ones.
- It reads `.env` of the folder it is started in, where GOOGLE_GEMINI_BASE_URL would send the key anywhere. So a
  read-only run is started outside. (A worker runs the branch's code anyway.)
- A `GEMINI.md` of any folder that it may read, `--include-directories` among them, stands in its first message as
  `<project_context>`, "highest priority", and no setting takes that away. So a read-only run may not read the worktree:
  it answers from the prompt alone.
- Its policy lets a run call no MCP server of the operator's; that none is started either, nor an extension, is because
  their allow-lists name only what does not exist.
- A worker is in the mode `default`, where a policy file that is lost leaves it the reading tools; in `yolo` it would
  have all. In that mode commands that it calls dangerous (`rm -rf`, `find -delete`) are refused, and git in a folder
  that is not trusted: prloom commits anyway.
- Without a model it lets a small model choose one for each prompt, which is a call of its own; so it always gets one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import command_line, commented_json, error_kinds, mcp_server, parsing, stream
from prloom.agents.activity.gemini import TOOL_PREFIX, GeminiAdapter
from prloom.agents.agent import (
    ErrorKind,
    Invocation,
    LimitReport,
    ProgramEnding,
    RunRequest,
    RunResult,
    StreamEntry,
    TokenUsage,
)
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.agents.parsing import ParsedOutput
from prloom.agents.sandbox import HomeFile
from prloom.model.agent_names import Inherited
from prloom.model.record import JsonObject

name: Final = "gemini"
program: Final = "gemini"
sign_in: Final = "run `gemini` and sign in, or start prloom with a valid GEMINI_API_KEY"
resumes: Final = True
session_variables: Final = ()
worktree_files: Final = ("GEMINI.md", ".gemini/**", ".agents/**")
home_files: Final = (
    HomeFile(".gemini/oauth_creds.json", "write"),  # a sign-in is renewed there
    HomeFile(".gemini/tmp/", "write"),
    HomeFile(".gemini/settings.json"),
    HomeFile(".gemini/google_accounts.json"),
    HomeFile(".gemini/installation_id"),
    HomeFile(".gemini/.env"),
)
activity: Final = GeminiAdapter
tool_prefix: Final = TOOL_PREFIX
variables: Final = ("GEMINI_*", "GOOGLE_*")

_MODEL = "flash"
"""The alias for the latest quick model, which every account may use."""

_CHOOSING = "auto"
"""How the names of models begin that stand for a choice by a small model."""

_NO_SERVER = "prloom-allows-none"
"""Not the name of any MCP server: an allow-list that is empty allows all."""

# "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {…}"; "Error when talking to Gemini API Full
# report available at: … TerminalQuotaError: You have exhausted …"
_REFUSED = re.compile(
    r"(?:Attempt \d+ failed with status (?P<status>\d{3})\b|"
    r"Error when talking to Gemini API .{0,500}(?:Terminal|Retryable)QuotaError:)(?P<said>.*)"
)
_TOO_MANY = 429
_EXIT_CODES: Mapping[int, ErrorKind] = {41: "auth", 53: "turns"}
_NO_SESSION = re.compile(r"Error resuming session: .*")
_CHATTER = re.compile(r"Warning: |YOLO mode is enabled|Ripgrep is not available")

_POLICIES = Path(__file__).with_name("policies")
_SYSTEM_SETTINGS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
_NO_HOOKS = {"hooksConfig": {"enabled": False}}
_ENV = {"GEMINI_CLI_TRUSTED_FOLDERS_PATH": str(_POLICIES / "gemini-trusted-folders.json")}


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return how long a call may take; which tools may be called is for the policy to say.

    The file stands in for the settings that switch off hooks where a run has no server.
    """
    beside: Mapping[str, object] = {}
    if "hooks" not in inherit:
        beside = _NO_HOOKS
    return ServerSettings(entry={"timeout": server.call_limit_ms, "trust": False}, beside=beside)


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the file in which the operator may have chosen a model."""
    return (_settings_file(environ),)


def _settings_file(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home()) / ".gemini" / "settings.json"


def invocation(request: RunRequest) -> Invocation:
    """Return the headless command line; with stdin that is no terminal it reads the prompt from there."""
    policy = ("--approval-mode", "default", "--admin-policy", str(_POLICIES / f"gemini-{request.rights}.toml"))
    env, server = _ENV, _NO_SERVER
    if request.server is not None:
        env = _ENV | {_SYSTEM_SETTINGS: str(request.server.config)}
        server = mcp_server.NAME
    elif "hooks" not in request.inherit:
        env = _ENV | {_SYSTEM_SETTINGS: str(_POLICIES / "gemini-settings.json")}
    servers: tuple[str, ...] = ("--allowed-mcp-server-names", server)
    if "mcp" in request.inherit:
        servers = ("--admin-policy", str(_POLICIES / "gemini-mcp.toml"))
    servers = (*servers, "--extensions", "none")
    session = ("--resume", request.session) if request.session else ()
    options = ("--skip-trust", *policy, *servers, *session, "-m", _model(request))
    argv = ("gemini", "--output-format", "stream-json", *options)
    return Invocation(argv=argv, env=env, outside=request.rights == "read")


def _model(request: RunRequest) -> str:
    """Return the model to use: the configured one, or what the operator has chosen for the program, or the default."""
    own = request.environ.get("GEMINI_MODEL") or _model_of(request.settings.get(_settings_file(request.environ), ""))
    if request.model or not own or own.startswith(_CHOOSING):
        return request.model or _MODEL
    return own


def _model_of(settings: str) -> str | None:
    """Return the model that the operator's settings name."""
    found = commented_json.read(settings)
    return parsing.text(parsing.obj(found, "model"), "name") or parsing.text(found, "model")


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return the command line for a person's terminal."""
    resumed, first = command_line.option("--resume", session), command_line.option("--prompt-interactive", prompt)
    return (program, *resumed, *command_line.option("--model", model), *first)


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return the limit on account of which the program tries again, which it tells on stderr only, or ends."""
    found = None
    if stderr:
        found = _REFUSED.match(line)
    if found is None:
        return None
    if found["status"]:
        status = int(found["status"])
    else:
        status = _TOO_MANY
    return error_kinds.refusal(found["said"], at, status=status)


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return what a line of the `stream-json` output tells."""
    event = next(parsing.events(line), parsing.NOTHING)
    error = parsing.text(parsing.obj(event, "error"), "message")
    match event.get("type"):
        case "message" if event.get("role") == "assistant":
            return (StreamEntry(kind="piece", text=parsing.text(event, "content") or ""),)
        case "tool_use":
            return (stream.call(parsing.text(event, "tool_name") or "?", parsing.obj(event, "parameters")),)
        case "tool_result":
            said = error or parsing.text(event, "output") or ""
            return (stream.result(said, failed=event.get("status") == "error"),)
        case "error":
            return (StreamEntry(kind="error", text=parsing.text(event, "message") or "it failed"),)
        case "result" if event.get("status") != "success":
            return (StreamEntry(kind="error", text=error or "it failed"),)
        case _:
            return ()


def least_used(output: str) -> TokenUsage | None:
    """Return None: it counts what the run used."""
    return None


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result of a `stream-json` output; stderr is full of chatter even when all goes well."""
    init: JsonObject = parsing.NOTHING
    result: JsonObject | None = None
    complaint: str | None = None
    message, answered = "", False
    for event in parsing.events(output):
        kind, role = event.get("type"), event.get("role")
        answered = answered or kind == "tool_use" or (kind, role) == ("message", "assistant")
        match kind, role:
            case "init", _:
                init = event
            case "message", "assistant":
                message += parsing.text(event, "content") or ""
            case (("tool_use" | "tool_result" | "message"), _):
                message = ""
            case "error", _:
                complaint = parsing.text(event, "message") or complaint
            case "result", _:
                result = event
    error, trouble = _error(result, complaint), None
    if error is None and result is None:
        error, trouble = _of_stderr(ending)
    reading = ParsedOutput(
        message=message,
        closed=result is not None,
        error=error,
        trouble=trouble or (error_kinds.of_text(error) if error else None),
        usage=_usage(parsing.obj(result, "stats")) if result else None,
        session_id=parsing.text(init, "session_id") if answered else None,  # else it may never have been written
        model=parsing.text(init, "model"),
    )
    return parsing.conclude(reading, ending)


def _of_stderr(ending: ProgramEnding) -> tuple[str | None, ErrorKind | None]:
    """Return why the run has no result: by an exit code of the program's own, or by the last call that was refused."""
    missing = next((found[0] for line in ending.stderr.splitlines() if (found := _NO_SESSION.match(line))), None)
    if missing:
        return missing, "session"
    refused = [found for line in ending.stderr.splitlines() if (found := _REFUSED.match(line))]
    trouble = None
    if ending.ended_by == "exit":
        trouble = _EXIT_CODES.get(ending.code)
    if trouble is None and refused:
        if error_kinds.of_text(refused[-1]["said"]) == "usage_limit":
            return refused[-1][0], "usage_limit"
        return refused[-1][0], error_kinds.of_status(int(refused[-1]["status"] or _TOO_MANY))
    if trouble is None:
        return None, None
    said = " ".join(line.strip() for line in ending.stderr.splitlines() if line.strip() and not _CHATTER.match(line))
    return said or f"the program ended with exit code {ending.code}", trouble


def _error(result: JsonObject | None, complaint: str | None) -> str | None:
    if result is None:
        return complaint
    if result.get("status") == "success":
        return None
    return parsing.text(parsing.obj(result, "error"), "message") or complaint or "unknown error"


def _usage(stats: JsonObject) -> TokenUsage | None:
    tokens_in, tokens_out = parsing.count(stats, "input_tokens"), parsing.count(stats, "output_tokens")
    if tokens_in is None or tokens_out is None:
        return None
    return TokenUsage(
        input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=parsing.count(stats, "cached") or 0
    )
