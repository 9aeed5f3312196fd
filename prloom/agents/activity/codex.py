"""Read the stream of `codex exec --json`: items, of which most are told of when they begin and when they are over."""

from __future__ import annotations

from typing import Final

from prloom.agents import mcp_server, parsing
from prloom.agents.activity import adapter
from prloom.agents.activity.adapter import MalformedLineError
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject

_QUIET: Final = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed", "error"})
_ITEMS: Final = frozenset({"item.started", "item.updated", "item.completed"})


class CodexAdapter:
    """Reads the items of a run."""

    fires: tuple[ActivityType, ...] = (
        *("TOOL_CALL_START", "TOOL_CALL_END", "TODO_UPDATE", "THOUGHT_COMPLETE", "DIFF_PREVIEW"),
    )

    def __init__(self) -> None:
        self._open: set[str] = set()

    def read(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know."""
        kind = parsing.text(event, "type")
        if kind in _QUIET:
            return ()
        if kind not in _ITEMS:
            return None
        item = parsing.obj(event, "item")
        if not item:
            raise MalformedLineError("item")
        return self._item(item, is_over=kind == "item.completed")

    def _item(self, item: JsonObject, *, is_over: bool) -> tuple[ActivityDraft, ...] | None:
        match item.get("type"):
            case "agent_message" | "error":
                return ()
            case "reasoning":
                if is_over:
                    return adapter.thought(parsing.text(item, "text") or "")
                return ()
            case "todo_list":
                return (adapter.todos(parsing.objects(item, "items"), text="text"),)
            case "command_execution":
                return self._call(item, "shell", {"command": adapter.required(item, "command")}, is_over=is_over)
            case "mcp_tool_call":
                return self._server_call(item, is_over=is_over)
            case "web_search":
                return self._call(item, "web_search", {"query": parsing.text(item, "query")}, is_over=is_over)
            case "collab_tool_call":
                given = {"prompt": parsing.text(item, "prompt")}
                return self._call(item, parsing.text(item, "tool") or "collab", given, is_over=is_over)
            case "file_change":
                return self._file_change(item, is_over=is_over)
        return None

    def _server_call(self, item: JsonObject, *, is_over: bool) -> tuple[ActivityDraft, ...]:
        server, tool = adapter.required(item, "server"), adapter.required(item, "tool")
        if server == mcp_server.NAME:  # which reports its calls itself
            return ()
        return self._call(item, f"mcp__{server}__{tool}", parsing.obj(item, "arguments"), is_over=is_over)

    def _file_change(self, item: JsonObject, *, is_over: bool) -> tuple[ActivityDraft, ...]:
        changes, call = parsing.objects(item, "changes"), adapter.required(item, "id")
        previews: list[ActivityDraft] = []
        if call not in self._open:  # before the call is noted as open: a malformed line leaves nothing behind
            previews = [
                adapter.preview(
                    adapter.required(change, "path"),
                    parsing.text(change, "kind") or "update",
                    parsing.text(change, "diff"),
                    within=call,
                )
                for change in changes
            ]
        drafts = self._call(item, "apply_patch", {"changes": list(changes)}, is_over=is_over)
        return (*drafts[:1], *previews, *drafts[1:])

    def _call(self, item: JsonObject, tool: str, given: object, *, is_over: bool) -> tuple[ActivityDraft, ...]:
        """Return the beginning of a call where it was not told of before, and its end where it is over."""
        call, drafts = adapter.required(item, "id"), list[ActivityDraft]()
        if call not in self._open:
            self._open.add(call)
            drafts.append(adapter.started(call, tool, given))
        if is_over:
            self._open.discard(call)
            drafts.append(adapter.ended(call, output_of(item), error=_error(item)))
        return tuple(drafts)


def output_of(item: JsonObject) -> str | None:
    """Return what an item came to: what a command printed, or the texts that a server answered; None for neither."""
    output = parsing.text(item, "aggregated_output")
    if output is not None:
        return output
    result = parsing.obj(item, "result")
    texts = [parsing.text(part, "text") for part in parsing.objects(result, "content")]
    if texts:
        return "\n".join(text for text in texts if text is not None)
    return None


def _error(item: JsonObject) -> str | None:
    """Return why an item failed; None for one that did not, or that does not say."""
    status = item.get("status")
    if not isinstance(status, str | None):
        raise MalformedLineError("status")
    if status in {None, "completed", "in_progress"}:
        return None
    said = parsing.text(parsing.obj(item, "error"), "message")
    if said is not None:
        return said
    code = parsing.count(item, "exit_code")
    if code is not None:
        return f"exit code {code}"
    return str(status)
