"""Read the stream of `opencode run --format json`: a tool is told of once, when it is over."""

from __future__ import annotations

from typing import Final

from prloom.agents import mcp_server, parsing
from prloom.agents.activity import adapter
from prloom.agents.activity.adapter import MalformedLineError
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject

TOOL_PREFIX: Final = f"{mcp_server.NAME}_"
"""What stands before the names of the tools of prloom's own MCP server, which reports its calls itself."""

_QUIET: Final = frozenset({"step_start", "text", "error"})
_OVER: Final = frozenset({"completed", "error"})


class OpencodeAdapter:
    """Reads the parts of a run."""

    fires: tuple[ActivityType, ...] = (
        *("TOOL_CALL_START", "TOOL_CALL_END", "CONTEXT_USAGE_UPDATE"),
        *("TODO_UPDATE", "THOUGHT_COMPLETE", "DIFF_PREVIEW"),
    )

    def read(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know."""
        part = parsing.obj(event, "part")
        match parsing.text(event, "type"):
            case "tool_use":
                return _call(part)
            case "reasoning":
                return adapter.thought(parsing.text(part, "text") or "")
            case "step_finish":
                return _usage(part)
            case kind if kind in _QUIET:
                return ()
        return None


def _call(part: JsonObject) -> tuple[ActivityDraft, ...]:
    call, tool, state = adapter.required(part, "callID"), adapter.required(part, "tool"), parsing.obj(part, "state")
    if tool.startswith(TOOL_PREFIX):
        return ()
    if parsing.text(state, "status") not in _OVER:
        raise MalformedLineError("status")
    given, time = parsing.obj(state, "input"), parsing.obj(state, "time")
    drafts = [adapter.started(call, tool, given)]
    if tool == "todowrite":
        drafts.append(adapter.todos(parsing.objects(given, "todos"), within=call))
    path, diff = parsing.text(given, "filePath"), parsing.text(parsing.obj(state, "metadata"), "diff")
    if tool == "write" and path:
        drafts.append(adapter.preview(path, "write", diff or parsing.text(given, "content"), within=call))
    elif tool == "edit" and path:
        old, new = parsing.text(given, "oldString") or "", parsing.text(given, "newString") or ""
        drafts.append(adapter.preview(path, "edit", diff or adapter.difference(path, old, new), within=call))
    error = None
    if state.get("status") == "error":
        error = parsing.text(state, "error") or "the tool failed"
    begun, over = parsing.count(time, "start"), parsing.count(time, "end")
    took = None
    if begun is not None and over is not None:
        took = max(over - begun, 0)
    return (*drafts, adapter.ended(call, parsing.text(state, "output"), error=error, took_ms=took))


def _usage(part: JsonObject) -> tuple[ActivityDraft, ...]:
    tokens = parsing.obj(part, "tokens")
    if not tokens:
        raise MalformedLineError("tokens")
    cache = parsing.obj(tokens, "cache")
    counts = (parsing.count(tokens, "input"), parsing.count(cache, "read"), parsing.count(cache, "write"))
    return (adapter.context_usage(sum(count or 0 for count in counts)),)
