"""OpenAI Codex: `codex exec`, seen with 0.169.0.

Sources: `codex exec --help`; https://developers.openai.com/codex/noninteractive and /config-reference; the recorded
streams of the tests. Tried by hand with 0.169.0: a worktree of a repository that the operator trusts is trusted too,
and its `.codex/config.toml` then starts its MCP servers; a whole `projects` table on the command line stops that, the
dotted form of the same setting does not. A sandbox holds for the shell, the only tool that writes; that it is read-only
is said as permissions, for only these can keep a folder from being read, and hold whatever the user's own mode is. In a
worktree that is not trusted its `AGENTS.md` is not read, but the descriptions of its skills (`.agents/skills`,
`.codex/skills`) stand among the instructions, unless they are switched off; the operator's own `AGENTS.md` stays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from prloom.agents import outcome, stream, troubles
from prloom.agents.agent import OWN_FILES, Ending, Invocation, Request, Result, Usage
from prloom.agents.outcome import Reading
from prloom.agents.stream import Json

name: Final = "codex"
program: Final = "codex"
variables: Final = ("CODEX_*", "OPENAI_*")

_DECLINED = "declined"
_NO_ORDERS = ("-c", "project_doc_max_bytes=0", "-c", "skills.include_instructions=false")


def invocation(request: Request) -> Invocation:
    """Return the headless command line; `-` makes it read the prompt from stdin."""
    # A JSON string is a TOML basic string as well.
    untrusted = f'projects={{{json.dumps(str(request.cwd))}={{trust_level="untrusted"}}}}'
    rights: tuple[str, ...] = ("--sandbox", "workspace-write")
    if request.read_only:
        # A search's words leave the machine; a run that reads strangers' text has no use for that.
        rights = (*_reading(request.cwd), "-c", 'web_search="disabled"', *_NO_ORDERS)
    model = ("-m", request.model) if request.model else ()
    argv = ("codex", "exec", "--json", "--skip-git-repo-check", "-c", untrusted, *rights, *model, "-")
    return Invocation(argv=argv)


def _reading(worktree: Path) -> tuple[str, ...]:
    """Return the options for a run that reads all but prloom's own files, where the texts of strangers wait.

    A codex that does not know permissions goes by the mode, which another one lets the permissions replace.
    """
    own = json.dumps(str(worktree / OWN_FILES))
    permissions = f'permissions.prloom={{filesystem={{":root"="read",{own}="deny"}}}}'
    return ("-c", 'sandbox_mode="read-only"', "-c", 'default_permissions="prloom"', "-c", permissions)


def read(output: str, ending: Ending) -> Result:
    """Return the result of a `--json` output."""
    session: str | None = None
    message = ""
    complaint: str | None = None
    done: Json | None = None
    denials: list[str] = []
    for event in stream.events(output):
        item = stream.obj(event, "item")
        match event.get("type"), item.get("type"):
            case "thread.started", _:
                session = stream.text(event, "thread_id")
            case "item.completed", "agent_message":
                message = stream.text(item, "text") or message
            case "item.completed", str(kind) if item.get("status") == _DECLINED:
                denials.append(kind)
            case "error", _:
                complaint = stream.text(event, "message") or complaint
            case "turn.failed", _:
                complaint = stream.text(stream.obj(event, "error"), "message") or complaint or "the turn failed"
            case "turn.completed", _:
                done, complaint = event, None
    reading = Reading(
        message=message,
        closed=done is not None,
        error=complaint,
        trouble=troubles.of_text(complaint) if complaint else None,
        denials=tuple(denials),
        usage=_usage(done) if done else None,
        session_id=session,
    )
    return outcome.conclude(reading, ending)


def _usage(done: Json) -> Usage | None:
    usage = stream.obj(done, "usage")
    tokens_in, tokens_out = stream.count(usage, "input_tokens"), stream.count(usage, "output_tokens")
    if tokens_in is None or tokens_out is None:
        return None
    cached = stream.count(usage, "cached_input_tokens") or 0
    return Usage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=cached)
