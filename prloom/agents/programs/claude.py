"""Claude Code: `claude -p`, seen with 2.1.197, 2.1.329 and 2.1.332.

Sources: `claude --help`; https://code.claude.com/docs/en/headless and /cli-reference; the recorded streams of the
tests. Tried by hand with 2.1.197 in a worktree full of traps: without `--setting-sources user` a worktree's
`.claude/settings.json` runs its hooks and `.mcp.json` its servers, without a question, because `-p` skips the trust
dialog. `--allowedTools` only pre-approves; it is `--tools` that takes the other tools away. Plan mode keeps Write and
Bash on offer and turns the answer into a plan, so a read-only run has only the reading tools and `dontAsk`, which
refuses what is left (reading outside the worktree). The operator's settings are read, for they may say how to sign in;
so hooks, those of plugins among them, are switched off by a setting, and files with instructions by the environment. A
worker has the editing tools and Bash as well, all approved: `acceptEdits` refuses nearly every command. Bash is not
sandboxed, so that a rule for a folder holds for the other tools and for what Bash plainly names.

`--resume` wants the prompt and every option again. A session belongs to the folder that it was started in.
After a resume, newer versions count the whole session in `modelUsage` and `total_cost_usd`, and only the run in `usage`
and `num_turns`; 2.1.197 counts the run everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import command_line, error_kinds, limits, mcp_server, parsing, stream
from prloom.agents.activity import messages
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
from prloom.model.own_folder import OWN_FOLDER
from prloom.model.record import JsonObject

name: Final = "claude"
program: Final = "claude"
sign_in: Final = "run `claude auth login`, or start prloom with a valid ANTHROPIC_API_KEY"
resumes: Final = True
session_variables: Final = (
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
)
worktree_files: Final = ("CLAUDE.md", "CLAUDE.local.md", ".claude/**", ".mcp.json")
home_files: Final = (
    HomeFile(".claude/.credentials.json", "write"),  # a sign-in is renewed there
    HomeFile(".claude/projects/", "write"),
    HomeFile(".claude/settings.json"),
    HomeFile(".claude.json"),
)
activity: Final = messages.claude
tool_prefix: Final = messages.TOOL_PREFIX
variables: Final = (
    "ANTHROPIC_*",
    "CLAUDE_*",
    "DISABLE_*",
    # Amazon Bedrock and Google Vertex by profile and file; long-lived cloud keys are not for an agent to hold.
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_REGION",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
)

_OWN = f"Read(./{OWN_FOLDER}/**),Edit(./{OWN_FOLDER}/**)"  # hold for Grep and Glob, and for Write, as well
_READING = "Read,Grep,Glob"
_WORKING = f"{_READING},Edit,Write,Bash"
_TOO_MANY = 429
_SYNTHETIC = "<synthetic>"  # the model of a message that the program wrote itself, about an error
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # Ten by default, which is minutes of silence on a refused key; prloom has a backoff of its own.
    "CLAUDE_CODE_MAX_RETRIES": "3",
}

_NO_HOOKS = '{"disableAllHooks": true}'
_NO_MEMORY = {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}

_SERVING = {
    "MCP_CONNECTION_NONBLOCKING": "0",  # else 2.1.197 begins without the tools of a server that takes a second
    "MCP_TIMEOUT": str(mcp_server.START_LIMIT_MS),
    "MCP_CONNECT_TIMEOUT_MS": str(mcp_server.START_LIMIT_MS),  # else it waits 5 s, and begins without the tools
    "ENABLE_TOOL_SEARCH": "false",
}


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return nothing more: it takes the server as it is."""
    return ServerSettings()


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return none: the options of the command line stand above the operator's settings."""
    return ()


def invocation(request: RunRequest) -> Invocation:
    """Return the headless command line; the prompt comes by stdin."""
    policy: tuple[str, ...] = ("--setting-sources", "user")
    if "mcp" not in request.inherit:
        policy = (*policy, "--strict-mcp-config")
    if "hooks" not in request.inherit:
        policy = (*policy, "--settings", _NO_HOOKS)
    tools = {"read": _READING, "work": _WORKING}[request.rights]
    allowed = [_WORKING] if request.rights == "work" else []
    env = _QUIET
    if "memory" not in request.inherit:
        env = env | _NO_MEMORY
    if request.server is not None:
        allowed.append(f"mcp__{mcp_server.NAME}")
        policy = (*policy, "--mcp-config", str(request.server.config))
        env = env | _SERVING | {"MCP_TOOL_TIMEOUT": str(request.server.call_limit_ms)}
    rights: tuple[str, ...] = ("--tools", tools)
    if allowed:
        rights = (*rights, "--allowedTools", ",".join(allowed))
    session = ("--resume", request.session) if request.session else ()
    model = ("--model", request.model) if request.model else ()
    options = ("--permission-mode", "dontAsk", *rights, "--disallowedTools", _OWN, *session, *model)
    argv = ("claude", "-p", "--output-format", "stream-json", "--verbose", *policy, *options)
    return Invocation(argv=argv, env=env)


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return the command line for a person's terminal."""
    resumed = command_line.option("--resume", session)
    return (program, *resumed, *command_line.option("--model", model), *command_line.words(prompt))


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return the rate limit on account of which the program tries again; a used-up allowance ends it by itself."""
    if stderr or '"api_retry"' not in line:
        return None
    event = next(parsing.events(line), parsing.NOTHING)
    if (event.get("type"), event.get("subtype"), event.get("error_status")) != ("system", "api_retry", _TOO_MANY):
        return None
    return LimitReport(trouble="rate_limit", message=f"{_TOO_MANY}: {parsing.text(event, 'error') or 'rate_limit'}")


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return what a line of the `stream-json` output tells."""
    event = next(parsing.events(line), parsing.NOTHING)
    if event.get("subtype") == "api_retry":
        about = parsing.text(event, "error") or "unknown"
        return (
            StreamEntry(kind="error", text=f"the model refused ({event.get('error_status')}: {about}); it tries again"),
        )
    return tuple(stream.of_messages(event))


def least_used(output: str) -> TokenUsage | None:
    """Return the `usage` of the closing result: it is always the run's own, but misses what a cut stream had used."""
    found = [event for event in parsing.events(output) if event.get("type") == "result"]
    usage = parsing.obj(found[-1], "usage") if found else parsing.NOTHING
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    fresh, created, cached, written = (parsing.count(usage, key) or 0 for key in keys)
    return TokenUsage(input_tokens=fresh + created + cached, output_tokens=written, cached_tokens=cached)


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result of a `stream-json` output."""
    init: JsonObject = parsing.NOTHING
    result: JsonObject | None = None
    retry: JsonObject | None = None
    reset: datetime | None = None
    spoken: list[JsonObject] = []
    for event in parsing.events(output):
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                init = event
            case "system", "api_retry":
                retry = event
            case "assistant", _ if parsing.text(parsing.obj(event, "message"), "model") != _SYNTHETIC:
                spoken.append(event)
                retry = None
            case "rate_limit_event", _:
                reset = _reset(event, ending)
            case "result", _:
                result = event
    if result is None:
        reading = _unfinished(spoken, retry, reset)
    else:
        reading = _finished(result, measured=_measured(result, spoken), reset=reset)
        if reading.error is None:
            reading = replace(reading, error=_without_server(init))
    session = parsing.text(result or init, "session_id") or parsing.text(init, "session_id")
    return parsing.conclude(replace(reading, session_id=session, model=parsing.text(init, "model")), ending)


def _without_server(init: JsonObject) -> str | None:
    """Return the error of a run that began before prloom's own server was connected: it offered none of the tools."""
    for server in parsing.objects(init, "mcp_servers"):
        status = parsing.text(server, "status")
        if parsing.text(server, "name") == mcp_server.NAME and status != "connected":
            return f"the agent began without prloom's tools, because their server was not connected ({status})"
    return None


def _unfinished(spoken: list[JsonObject], retry: JsonObject | None, reset: datetime | None) -> ParsedOutput:
    """Return the reading of a stream without a closing result: what it was about when it ended."""
    message = ""
    if spoken:
        message = _text(spoken[-1])
    if retry is None:
        return ParsedOutput(message=message, trouble="usage_limit" if reset else None, retry_at=reset)
    status = parsing.count(retry, "error_status")
    about = parsing.text(retry, "error") or "unknown"
    attempt, most = parsing.count(retry, "attempt"), parsing.count(retry, "max_retries")
    return ParsedOutput(
        message=message,
        error=f"the model refused ({status or about}: {about}); the program was at retry {attempt} of {most}",
        trouble="usage_limit" if reset else error_kinds.of_status(status) or "connection",
        retry_at=reset,
    )


def _finished(result: JsonObject, *, measured: bool, reset: datetime | None) -> ParsedOutput:
    """Return the reading of a closing result, which may say `success` and `is_error` at once."""
    said = parsing.text(result, "result") or ""
    error, trouble = _error(result, said, reset)
    return ParsedOutput(
        message=said,
        closed=True,
        error=error,
        trouble=trouble,
        retry_at=reset,
        denials=tuple(parsing.text(each, "tool_name") or "?" for each in parsing.objects(result, "permission_denials")),
        usage=_usage(result) if measured else None,
        cost_usd=parsing.amount(result, "total_cost_usd") if measured else None,
        turns=parsing.count(result, "num_turns"),
    )


def _error(result: JsonObject, said: str, reset: datetime | None) -> tuple[str | None, ErrorKind | None]:
    if result.get("is_error") is False:
        # 2.1.197 calls it a success when the stream was cut in the middle of a tool call, and the call was lost.
        if "stop_reason" in result and result["stop_reason"] is None and not result.get("modelUsage"):
            return f"the model's answer was cut off after: {said}", "connection"
        return None, None
    errors = result.get("errors")
    listed = ""
    if isinstance(errors, list):
        listed = "; ".join(str(each) for each in errors)
    error = said or listed or parsing.text(result, "subtype") or "unknown error"
    if reset is not None or error_kinds.of_text(error) == "usage_limit":
        return error, "usage_limit"
    if parsing.text(result, "subtype") == "error_max_turns":
        return error, "turns"
    return error, error_kinds.of_status(parsing.count(result, "api_error_status")) or error_kinds.of_text(error)


def _measured(result: JsonObject, spoken: list[JsonObject]) -> bool:
    """Return whether the result's zeros are to be believed: it counts nothing where the model did answer, when cut."""
    return bool(result.get("modelUsage")) or not spoken


def _usage(result: JsonObject) -> TokenUsage:
    """Return the sum over all models, subagents' too; the result's own `usage` misses what a cut stream had used."""
    parts = [part for part in parsing.obj(result, "modelUsage").values() if isinstance(part, dict)]

    def total(key: str) -> int:
        return sum(parsing.count(part, key) or 0 for part in parts)

    cached = total("cacheReadInputTokens")
    fresh = total("inputTokens") + total("cacheCreationInputTokens")
    return TokenUsage(input_tokens=fresh + cached, output_tokens=total("outputTokens"), cached_tokens=cached)


def _reset(event: JsonObject, ending: ProgramEnding) -> datetime | None:
    """Return when a refused allowance is there again (`resetsAt`, Unix seconds); None while it still allows.

    It allows as well where the allowance is used up and more is paid for (`isUsingOverage`).
    """
    info = parsing.obj(event, "rate_limit_info")
    stamp = parsing.amount(info, "resetsAt")
    if parsing.text(info, "status") != "rejected" or info.get("isUsingOverage") is True or stamp is None:
        return None
    return limits.from_epoch(stamp, ending.at)


def _text(event: JsonObject) -> str:
    content = parsing.objects(parsing.obj(event, "message"), "content")
    return "".join(parsing.text(block, "text") or "" for block in content)
