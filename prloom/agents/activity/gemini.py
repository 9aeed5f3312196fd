"""Read the stream of `gemini --output-format stream-json`."""

from __future__ import annotations

from typing import Final

from prloom.agents import mcp_server, parsing
from prloom.agents.activity import adapter
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject

TOOL_PREFIX: Final = f"mcp_{mcp_server.NAME}_"
"""What stands before the names of the tools of prloom's own MCP server, which reports its calls itself."""

_QUIET: Final = frozenset({"init", "message", "error", "result"})


class GeminiAdapter:
    """Reads the tool calls of a run; the pieces of text between them are no events."""

    fires: tuple[ActivityType, ...] = ("TOOL_CALL_START", "TOOL_CALL_END", "TODO_UPDATE", "DIFF_PREVIEW")

    def __init__(self) -> None:
        self._omitted: set[str] = set()

    def read(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know."""
        match parsing.text(event, "type"):
            case "tool_use":
                return self._call(event)
            case "tool_result":
                return self._result(event)
            case kind if kind in _QUIET:
                return ()
        return None

    def _call(self, event: JsonObject) -> tuple[ActivityDraft, ...]:
        call, tool = adapter.required(event, "tool_id"), adapter.required(event, "tool_name")
        if tool.startswith(TOOL_PREFIX):
            self._omitted.add(call)
            return ()
        given = parsing.obj(event, "parameters")
        drafts = [adapter.started(call, tool, given)]
        path = parsing.text(given, "file_path") or ""
        if tool == "write_todos":
            drafts.append(adapter.todos(parsing.objects(given, "todos"), text="description", within=call))
        elif tool == "write_file":
            drafts.append(adapter.preview(path, "write", parsing.text(given, "content"), within=call))
        elif tool == "replace":
            old, new = parsing.text(given, "old_string") or "", parsing.text(given, "new_string") or ""
            drafts.append(adapter.preview(path, "edit", adapter.difference(path, old, new), within=call))
        return tuple(drafts)

    def _result(self, event: JsonObject) -> tuple[ActivityDraft, ...]:
        call, status = adapter.required(event, "tool_id"), adapter.required(event, "status")
        if call in self._omitted:
            self._omitted.discard(call)
            return ()
        error = None
        if status != "success":
            error = parsing.text(parsing.obj(event, "error"), "message") or "the tool failed"
        return (adapter.ended(call, parsing.text(event, "output"), error=error),)
