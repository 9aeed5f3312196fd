"""Read the stream of claude, and of amp, whose stream is meant to be claude's: messages with blocks of content."""

from __future__ import annotations

from typing import Final

from prloom.agents import mcp_server, parsing
from prloom.agents.activity import adapter
from prloom.agents.activity.adapter import MalformedLineError
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject

TOOL_PREFIX: Final = f"mcp__{mcp_server.NAME}__"
"""What stands before the names of the tools of prloom's own MCP server, which reports its calls itself."""

_QUIET: Final = frozenset(
    {"result", "stream_event", "rate_limit_event", "tool_progress", "tool_use_summary", "auth_status", "keep_alive"}
)
_QUIET_SYSTEM: Final = frozenset(
    {
        *("init", "status", "api_retry", "permission_denied", "hook_started", "hook_progress", "hook_response"),
        *("task_started", "task_progress", "task_notification", "files_persisted", "local_command_output"),
    }
)
_TODOS: Final = frozenset({"TodoWrite", "todo_write"})
_WRITES: Final = frozenset({"Write", "create_file"})
_EDITS: Final = frozenset({"Edit", "MultiEdit", "edit_file"})
_SYNTHETIC: Final = "<synthetic>"

FIRES: Final[tuple[ActivityType, ...]] = (
    *("TOOL_CALL_START", "TOOL_CALL_END", "CONTEXT_USAGE_UPDATE", "TODO_UPDATE", "THOUGHT_COMPLETE", "DIFF_PREVIEW"),
)
COMPACTION: Final[tuple[ActivityType, ...]] = ("COMPACTION_START", "COMPACTION_COMPLETE")


class MessageAdapter:
    """Reads a stream of messages; `fires` differs between the programs that print one."""

    def __init__(self, fires: tuple[ActivityType, ...]) -> None:
        self.fires = fires
        self._omitted: set[str] = set()
        self._message = ""
        self._compacting = False

    def read(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know."""
        match parsing.text(event, "type"), parsing.text(event, "subtype"):
            case "assistant", _:
                return self._assistant(event)
            case "user", _:
                return self._user(event)
            case "system", "status" if event.get("status") == "compacting":
                return self._compaction_began()
            case "system", "compact_boundary":
                return self._compacted(event)
            case "system", subtype if subtype in _QUIET_SYSTEM:
                return ()
            case kind, _ if kind in _QUIET:
                return ()
        return None

    def _assistant(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        message, within = parsing.obj(event, "message"), parsing.text(event, "parent_tool_use_id")
        drafts: list[ActivityDraft] = []
        for block in _blocks(message):
            match block.get("type"):
                case "thinking":
                    drafts += adapter.thought(parsing.text(block, "thinking") or "", within=within)
                case "tool_use" | "server_tool_use":
                    drafts += self._call(block, within)
                case "web_search_tool_result" | "web_fetch_tool_result":
                    drafts.append(adapter.ended(adapter.required(block, "tool_use_id"), block.get("content")))
                case "text" | "redacted_thinking":
                    pass
                case _:
                    return None
        if within is None:
            drafts += self._usage(message)
        return tuple(drafts)

    def _call(self, block: JsonObject, within: str | None) -> list[ActivityDraft]:
        call, tool = adapter.required(block, "id"), adapter.required(block, "name")
        if tool.startswith(TOOL_PREFIX):
            self._omitted.add(call)
            return []
        given = parsing.obj(block, "input")
        drafts = [adapter.started(call, tool, given, within=within)]
        if tool in _TODOS:
            drafts.append(adapter.todos(parsing.objects(given, "todos"), within=call))
        path = parsing.text(given, "file_path") or parsing.text(given, "path") or ""
        if tool in _WRITES:
            drafts.append(adapter.preview(path, "write", parsing.text(given, "content"), within=call))
        elif tool in _EDITS:
            edits = parsing.objects(given, "edits") or (given,)
            drafts.append(adapter.preview(path, "edit", _diff(path, edits), edits=len(edits), within=call))
        return drafts

    def _usage(self, message: JsonObject) -> tuple[ActivityDraft, ...]:
        """Return the size of what the model was given, once for each of its messages."""
        usage, own = parsing.obj(message, "usage"), parsing.text(message, "id") or ""
        if not usage or own == self._message or message.get("model") == _SYNTHETIC:
            return ()
        self._message = own
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return (adapter.context_usage(sum(parsing.count(usage, key) or 0 for key in keys)),)

    def _user(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        message = parsing.obj(event, "message")
        if isinstance(message.get("content"), str):
            return ()
        drafts = []
        for block in _blocks(message):
            if block.get("type") != "tool_result":
                continue
            call = adapter.required(block, "tool_use_id")
            if call in self._omitted:
                self._omitted.discard(call)
                continue
            said, error = _said(block), None
            if block.get("is_error") is True:
                error = said or "the tool failed"
            drafts.append(adapter.ended(call, said, error=error))
        return tuple(drafts)

    def _compaction_began(self) -> tuple[ActivityDraft, ...]:
        if self._compacting:
            return ()
        self._compacting = True
        return (ActivityDraft(type="COMPACTION_START", data={}),)

    def _compacted(self, event: JsonObject) -> tuple[ActivityDraft, ...]:
        """Return the end of a compaction, and its beginning where the program has not told of that."""
        began = self._compaction_began()
        self._compacting = False
        about = parsing.obj(event, "compact_metadata")
        if not about:
            raise MalformedLineError("compact_metadata")
        complete = ActivityDraft(type="COMPACTION_COMPLETE", data={"oldContextUsage": None, "newContextUsage": None})
        after = parsing.count(about, "post_tokens")
        if after is None:
            return (*began, complete)
        return (*began, complete, adapter.context_usage(after))


def claude() -> MessageAdapter:
    """Return the adapter of a run of claude."""
    return MessageAdapter((*FIRES, *COMPACTION))


def amp() -> MessageAdapter:
    """Return the adapter of a run of amp, whose documents say nothing of compaction."""
    return MessageAdapter(FIRES)


def _blocks(message: JsonObject) -> tuple[JsonObject, ...]:
    if not isinstance(message.get("content"), list):
        raise MalformedLineError("content")
    return parsing.objects(message, "content")


def _diff(path: str, edits: tuple[JsonObject, ...]) -> str:
    pairs = (
        (
            parsing.text(edit, "old_string") or parsing.text(edit, "old_str") or "",
            parsing.text(edit, "new_string") or parsing.text(edit, "new_str") or "",
        )
        for edit in edits
    )
    return "\n".join(adapter.difference(path, old, new) for old, new in pairs)


def _said(block: JsonObject) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = parsing.objects(block, "content")
    return "\n".join(parsing.text(part, "text") or f"[{part.get('type')}]" for part in parts)
