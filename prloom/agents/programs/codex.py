"""OpenAI Codex: `codex exec`, seen with 0.169.0.

Sources: `codex exec --help`; https://developers.openai.com/codex/noninteractive and /config-reference; the recorded
streams of the tests. Tried by hand with 0.169.0: a worktree of a repository that the operator trusts is trusted too,
and its `.codex/config.toml` then starts its MCP servers; a whole `projects` table on the command line stops that, the
dotted form of the same setting does not. A sandbox holds for the shell, the only tool that writes; what it allows is
said as permissions, for only these can keep a folder from being read, and hold whatever the user's own mode is. In a
worktree that is not trusted its `AGENTS.md` is not read, but the descriptions of its skills (`.agents/skills`,
`.codex/skills`) stand among the instructions, unless they are switched off; the operator's own `AGENTS.md` stays.

The tokens of `turn.completed` are those of the whole session: after `resume` they go on from the last run's.

MCP servers run outside the sandbox, and a tool that says of itself that it only reads is called without approval. A
run therefore switches off each server of the operator's by its name: an empty `mcp_servers` table on the
command line is merged with the configured one and changes nothing. A name that no file configures is an error of
codex's. Plugins, apps and sub-agents bring servers of their own, so they are switched off as features.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import command_line, error_kinds, mcp_server, parsing, stream
from prloom.agents.activity.codex import CodexAdapter, output_of
from prloom.agents.agent import (
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
from prloom.agents.run_ancestry import RUN_VARIABLE
from prloom.agents.sandbox import HomeFile
from prloom.errors import AgentError
from prloom.model.agent_names import Inherited
from prloom.model.own_folder import OWN_FOLDER
from prloom.model.record import JsonObject

name: Final = "codex"
program: Final = "codex"
sign_in: Final = "run `codex login`, or start prloom with a valid OPENAI_API_KEY"
resumes: Final = True
session_variables: Final = ()
worktree_files: Final = ("AGENTS.md", "AGENTS.override.md", ".codex/**", ".agents/**")
home_files: Final = (
    HomeFile(".codex/auth.json", "write"),  # a sign-in is renewed there
    HomeFile(".codex/sessions/", "write"),
    HomeFile(".codex/config.toml"),
)
activity: Final = CodexAdapter
tool_prefix: Final = ""  # an item names the server beside the tool
variables: Final = ("CODEX_*", "OPENAI_*")

_DECLINED = "declined"
_NO_ORDERS = ("-c", "project_doc_max_bytes=0", "-c", "skills.include_instructions=false")
_NO_SERVERS = ("-c", "features.apps=false", "-c", "features.plugins=false", "-c", "features.multi_agent=false")
_NO_HOOKS = ("-c", "notify=[]", "-c", "features.hooks=false")
_NO_MEMORY = ("-c", "features.memories=false")
_SYSTEM = Path("/etc/codex/config.toml")
_MANAGED = Path("/etc/codex/managed_config.toml")
"""Stands above the command line, so that a server that is enabled there cannot be switched off."""


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return nothing more: it takes the server as it is."""
    return ServerSettings()


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files in which MCP servers may be configured; raise AgentError for a folder of the worktree's."""
    home = environ.get("CODEX_HOME")
    if home and not Path(home).is_absolute():
        raise AgentError(f"CODEX_HOME is {home!r}, which is relative; set it to an absolute path, or unset it")
    if home:
        folder = Path(home)
    else:
        folder = Path(environ.get("HOME") or Path.home()) / ".codex"
    return (_SYSTEM, folder / "config.toml", _MANAGED)


def invocation(request: RunRequest) -> Invocation:
    """Return the headless command line; `-` makes it read the prompt from stdin."""
    command = ("codex", "exec", "resume") if request.session else ("codex", "exec")
    session = (request.session,) if request.session else ()
    untrusted = f'projects={{{_toml(str(request.cwd))}={{trust_level="untrusted"}}}}'
    rights = (*_permissions(request), "-c", 'web_search="disabled"', *_NO_ORDERS, *_NO_SERVERS)
    servers = _servers_of_run(request)
    model = ("-m", request.model) if request.model else ()
    own = [] if "hooks" in request.inherit else [*_NO_HOOKS]
    if "memory" not in request.inherit:
        own += _NO_MEMORY
    options = ("-c", untrusted, *_shell_environment(request), *rights, *own, *servers, *model)
    return Invocation(argv=(*command, "--json", "--skip-git-repo-check", *options, *session, "-"))


def _shell_environment(request: RunRequest) -> tuple[str, ...]:
    """Return the options that keep the model's key from the shell; git keeps what prloom has set for it.

    The processes of the shell are found by the run's id.
    """
    kept = {name: value for name, value in request.environ.items() if name.startswith("GIT_")}
    if request.run:
        kept[RUN_VARIABLE] = request.run
    values = ",".join(f"{name}={_toml(value)}" for name, value in kept.items())
    return ("-c", 'shell_environment_policy.inherit="core"', "-c", f"shell_environment_policy.set={{{values}}}")


def _permissions(request: RunRequest) -> tuple[str, ...]:
    """Return the options that say what a run may read and write: nothing of prloom's own files.

    A worker may write in the worktree and for temporary files, and not in git's folders: prloom commits. A codex that
    does not know permissions goes by the mode, which another one lets the permissions replace. `resume` has no
    `--sandbox`, so the mode is a setting.
    """
    files: dict[str, str | dict[str, str]] = {":root": "read"}
    mode = "read-only"
    if request.rights == "work":
        files |= {":workspace_roots": {".": "write"}, ":tmpdir": "write"}
        mode = "workspace-write"
    files[str(request.cwd / OWN_FOLDER)] = "deny"
    permissions = f"permissions.prloom={{filesystem={_table(files)}}}"
    return ("-c", f'sandbox_mode="{mode}"', "-c", 'default_permissions="prloom"', "-c", permissions)


def _table(values: Mapping[str, str | dict[str, str]]) -> str:
    """Return a TOML inline table of texts and such tables."""
    shown = {key: _toml(value) if isinstance(value, str) else _table(value) for key, value in values.items()}
    return "{" + ",".join(f"{_toml(key)}={value}" for key, value in shown.items()) + "}"


def _servers_of_run(request: RunRequest) -> tuple[str, ...]:
    """Return the option that switches off every configured MCP server, unless the run has them, and adds prloom's."""
    off: list[str] = []
    if "mcp" not in request.inherit:
        off = [name for name in _configured(request.settings, request.stage) if name != mcp_server.NAME]
    entries = [f"{_toml(name)}={{enabled=false}}" for name in off]
    if request.server is not None:
        entries.append(f"{mcp_server.NAME}={{{_own_server(request.server)}}}")
    if entries:
        return ("-c", f"mcp_servers={{{','.join(entries)}}}")
    return ()


def _own_server(server: McpServer) -> str:
    """Return the settings of prloom's server; a run without it fails at once, and its tools need no approval.

    The token is not among the arguments: the server reads it from the file that its environment names.
    """
    program, *args = server.command
    listed = ",".join(map(_toml, args))
    seconds = -(-server.call_limit_ms // 1000)
    return (
        f"command={_toml(program)},args=[{listed}],enabled=true,required=true,"
        f"env={{{mcp_server.CONFIG_VARIABLE}={_toml(str(server.config))}}},"
        f'default_tools_approval_mode="approve",startup_timeout_sec={mcp_server.START_LIMIT_MS // 1000},'
        f"tool_timeout_sec={seconds}"
    )


def _configured(settings: Mapping[Path, str], stage: str) -> tuple[str, ...]:
    """Return the names of the MCP servers that are configured; raise AgentError where one could stay on."""
    names: dict[str, None] = {}
    for path, text in settings.items():
        try:
            config: JsonObject = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise AgentError(
                f"{path} is not valid TOML ({error}), so prloom cannot switch off its MCP servers; correct the file"
            ) from error
        servers = _servers(config)
        for name in servers:
            if path == _MANAGED and parsing.obj(servers, name).get("enabled") is True:
                raise AgentError(
                    f"{path} enables the MCP server {name!r}, which no run of prloom's may use;"
                    f" remove `enabled = true` there, or choose another agent for the stage {stage}"
                )
            names[name] = None
    return tuple(names)


def _servers(config: JsonObject) -> JsonObject:
    """Return the configured MCP servers, those of the chosen profile among them (codex before 0.140 knew profiles)."""
    profile = parsing.obj(config, "profiles", parsing.text(config, "profile") or "")
    return {**parsing.obj(config, "mcp_servers"), **parsing.obj(profile, "mcp_servers")}


def _toml(text: str) -> str:
    """Return the text as a TOML string: one of JSON, but for a character that TOML wants escaped and JSON does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return the command line for a person's terminal."""
    resumed = command_line.option("resume", session)
    return (program, *command_line.option("--model", model), *resumed, *command_line.words(prompt))


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return the limit that an error of the stream tells of; the program then goes on trying, in silence."""
    if stderr or '"error"' not in line:
        return None
    event = next(parsing.events(line), parsing.NOTHING)
    message = None
    if event.get("type") == "error":
        message = parsing.text(event, "message")
    if message:
        return error_kinds.refusal(message, at)
    return None


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return what a line of the `--json` output tells."""
    event = next(parsing.events(line), parsing.NOTHING)
    item = parsing.obj(event, "item")
    match event.get("type"), item.get("type"):
        case "item.completed", "agent_message":
            return (StreamEntry(kind="text", text=parsing.text(item, "text") or ""),)
        case "item.started", "command_execution":
            return (stream.call("shell", item),)
        case "item.started", "mcp_tool_call":
            return (stream.call(parsing.text(item, "tool") or "?", parsing.obj(item, "arguments")),)
        case "item.completed", "command_execution" | "mcp_tool_call":
            said = output_of(item) or parsing.text(parsing.obj(item, "error"), "message") or ""
            return (stream.result(said, failed=item.get("status") != "completed"),)
        case "item.completed", "error":  # such as that it does not know the model's prices
            return (StreamEntry(kind="remark", text=parsing.text(item, "message") or ""),)
        case "error", _:
            return (StreamEntry(kind="error", text=parsing.text(event, "message") or ""),)
        case "turn.failed", _:
            return (
                StreamEntry(kind="error", text=parsing.text(parsing.obj(event, "error"), "message") or "it failed"),
            )
        case _:
            return ()


def least_used(output: str) -> TokenUsage | None:
    """Return that nothing is known: only the session is counted."""
    return TokenUsage(input_tokens=0, output_tokens=0, cached_tokens=0)


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result of a `--json` output."""
    session: str | None = None
    message = ""
    complaint: str | None = None
    done: JsonObject | None = None
    denials: list[str] = []
    for event in parsing.events(output):
        item = parsing.obj(event, "item")
        match event.get("type"), item.get("type"):
            case "thread.started", _:
                session = parsing.text(event, "thread_id")
            case "item.completed", "agent_message":
                message = parsing.text(item, "text") or message
            case "item.completed", str(kind) if item.get("status") == _DECLINED:
                denials.append(kind)
            case "error", _:
                complaint = parsing.text(event, "message") or complaint
            case "turn.failed", _:
                complaint = parsing.text(parsing.obj(event, "error"), "message") or complaint or "the turn failed"
            case "turn.completed", _:
                done, complaint = event, None
    reading = ParsedOutput(
        message=message,
        closed=done is not None,
        error=complaint,
        trouble=error_kinds.of_text(complaint) if complaint else None,
        denials=tuple(denials),
        usage=_usage(done) if done else None,
        session_id=session,
    )
    return parsing.conclude(reading, ending)


def _usage(done: JsonObject) -> TokenUsage | None:
    usage = parsing.obj(done, "usage")
    tokens_in, tokens_out = parsing.count(usage, "input_tokens"), parsing.count(usage, "output_tokens")
    if tokens_in is None or tokens_out is None:
        return None
    cached = parsing.count(usage, "cached_input_tokens") or 0
    return TokenUsage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=cached)
