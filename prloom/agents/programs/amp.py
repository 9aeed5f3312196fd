"""Amp: `amp --execute`, from its documents; it needs an account of its own, so that no run of it is recorded.

Sources: https://ampcode.com/manual#cli-streaming-json, https://ampcode.com/news/streaming-json (the stream, which is
meant to be claude's) and https://ampcode.com/docs/cli/settings (`amp.tools.disable`, a list of names with `*`).

Amp has no read-only mode, asks for no approval, and obeys `.amp/settings.json` and `.amp/plugins` of the folder that it
is started in or of one above. A read-only run is therefore started outside the worktree and without any tool: it
answers from the prompt alone. `model` is passed as Amp's mode, because its models are chosen that way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prloom.agents import error_kinds, parsing, stream
from prloom.agents.activity import messages
from prloom.agents.agent import Invocation, LimitReport, ProgramEnding, RunRequest, RunResult, StreamEntry, TokenUsage
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.agents.parsing import ParsedOutput
from prloom.agents.sandbox import HomeFile
from prloom.model.agent_names import Inherited
from prloom.model.record import JsonObject

name: Final = "amp"
program: Final = "amp"
sign_in: Final = "run `amp login`, or start prloom with a valid AMP_API_KEY"
resumes: Final = False
"""Its threads are continued by another command, which was never seen to work."""
session_variables: Final = ()
worktree_files: Final = ("AGENTS.md", "AGENT.md", "CLAUDE.md", ".amp/**", ".agents/**")
home_files: Final = (
    HomeFile(".local/share/amp/", "write"),
    HomeFile(".config/amp/"),
)
activity: Final = messages.amp
tool_prefix: Final = None
variables: Final = ("AMP_*",)

_POLICIES = Path(__file__).with_name("policies")
_QUIET = {"AMP_SKIP_UPDATE_CHECK": "1"}


def server_settings(server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
    """Return None: it gets no MCP server."""
    return None


def settings_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return none: a run gets a settings file in place of the operator's."""
    return ()


def invocation(request: RunRequest) -> Invocation:
    """Return the headless command line; `--execute` without a message reads the prompt from stdin."""
    rights = ("--settings-file", str(_POLICIES / f"amp-{request.rights}.json"))
    mode = ("--mode", request.model) if request.model else ()
    argv = ("amp", "--execute", "--stream-json", *rights, *mode)
    return Invocation(argv=argv, env=_QUIET, outside=request.rights == "read")


def interactive(*, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
    """Return None: its interactive mode is not known well enough."""
    return None


def refusal(line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
    """Return None: how it tells of a limit was never seen."""
    return None


def entries(line: str) -> tuple[StreamEntry, ...]:
    """Return what a line of the `--stream-json` output tells."""
    return tuple(stream.of_messages(next(parsing.events(line), parsing.NOTHING)))


def least_used(output: str) -> TokenUsage | None:
    """Return None: it counts what the run used."""
    return None


def read(output: str, ending: ProgramEnding) -> RunResult:
    """Return the result of a `--stream-json` output."""
    init: JsonObject = parsing.NOTHING
    result: JsonObject | None = None
    answers: list[JsonObject] = []
    for event in parsing.events(output):
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                init = event
            case "assistant", _:
                answers.append(parsing.obj(event, "message"))
            case "result", _:
                result = event
    error = None
    if result:
        error = _error(result)
    reading = ParsedOutput(
        message=(parsing.text(result, "result") or "") if result else "",
        closed=result is not None,
        error=error,
        trouble=error_kinds.of_text(error) if error else None,
        usage=_usage(answers) if result else None,
        session_id=parsing.text(init, "session_id"),
        turns=parsing.count(result, "num_turns") if result else None,
    )
    return parsing.conclude(reading, ending)


def _error(result: JsonObject) -> str | None:
    if result.get("is_error") is False and result.get("subtype") == "success":
        return None
    return (
        parsing.text(result, "error")
        or parsing.text(result, "result")
        or parsing.text(result, "subtype")
        or "unknown error"
    )


def _usage(answers: list[JsonObject]) -> TokenUsage | None:
    """Return the sum over the answers that carry a count; None when none does."""
    counts = [usage for answer in answers if (usage := parsing.obj(answer, "usage"))]
    if not counts:
        return None

    def total(key: str) -> int:
        return sum(parsing.count(each, key) or 0 for each in counts)

    cached = total("cache_read_input_tokens")
    fresh = total("input_tokens") + total("cache_creation_input_tokens")
    return TokenUsage(input_tokens=fresh + cached, output_tokens=total("output_tokens"), cached_tokens=cached)
