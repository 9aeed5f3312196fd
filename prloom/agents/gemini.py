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
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from prloom.agents import outcome, stream, troubles
from prloom.agents.agent import Ending, Invocation, Request, Result, Usage
from prloom.agents.outcome import Reading
from prloom.agents.stream import Json

name: Final = "gemini"
program: Final = "gemini"
variables: Final = ("GEMINI_*", "GOOGLE_*")

_POLICIES = Path(__file__).with_name("policies")
_ENV = {"GEMINI_CLI_TRUSTED_FOLDERS_PATH": str(_POLICIES / "gemini-trusted-folders.json")}


def invocation(request: Request) -> Invocation:
    """Return the headless command line; with stdin that is no terminal it reads the prompt from there."""
    rights: tuple[str, ...] = ("--approval-mode", "yolo")
    if request.read_only:
        policy = str(_POLICIES / "gemini-read-only.toml")
        rights = ("--approval-mode", "default", "--admin-policy", policy)
    model = ("-m", request.model) if request.model else ()
    argv = ("gemini", "--output-format", "stream-json", "--skip-trust", *rights, *model)
    return Invocation(argv=argv, env=_ENV, outside=request.read_only)


def read(output: str, ending: Ending) -> Result:
    """Return the result of a `stream-json` output; stderr is full of chatter even when all goes well."""
    init: Json = stream.NOTHING
    result: Json | None = None
    complaint: str | None = None
    message = ""
    for event in stream.events(output):
        match event.get("type"), event.get("role"):
            case "init", _:
                init = event
            case "message", "assistant":
                message += stream.text(event, "content") or ""
            case (("tool_use" | "tool_result" | "message"), _):
                message = ""
            case "error", _:
                complaint = stream.text(event, "message") or complaint
            case "result", _:
                result = event
    error = _error(result, complaint)
    reading = Reading(
        message=message,
        closed=result is not None,
        error=error,
        trouble=troubles.of_text(error) if error else None,
        usage=_usage(stream.obj(result, "stats")) if result else None,
        session_id=stream.text(init, "session_id"),
        model=stream.text(init, "model"),
    )
    return outcome.conclude(reading, ending)


def _error(result: Json | None, complaint: str | None) -> str | None:
    if result is None:
        return complaint
    if result.get("status") == "success":
        return None
    return stream.text(stream.obj(result, "error"), "message") or complaint or "unknown error"


def _usage(stats: Json) -> Usage | None:
    tokens_in, tokens_out = stream.count(stats, "input_tokens"), stream.count(stats, "output_tokens")
    if tokens_in is None or tokens_out is None:
        return None
    return Usage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=stream.count(stats, "cached") or 0)
