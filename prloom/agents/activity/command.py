"""Read what a program of `[agents.command]` says of its own activity: lines of the form that docs/agents.md gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from prloom.agents.activity import adapter
from prloom.agents.activity.adapter import MalformedLineError
from prloom.model import record
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject, Record

_TYPE: Final = "activity"
_DATA: Final = "data"

_Fraction = Annotated[float, Meta(ge=0, le=1)]
_Count = Annotated[int, Meta(ge=0)]


class _ToolCallStart(Record, frozen=True, kw_only=True):
    tool_call_id: str
    tool_name: str
    arguments: Mapping[str, Any]


class _ToolCallEnd(Record, frozen=True, kw_only=True):
    tool_call_id: str
    result: Any = None
    success: bool
    error: str | None = None


class _CompactionStart(Record, frozen=True, kw_only=True):
    pass


class _CompactionComplete(Record, frozen=True, kw_only=True):
    old_context_usage: _Fraction | None
    new_context_usage: _Fraction | None


class _ContextUsage(Record, frozen=True, kw_only=True):
    context_usage: _Fraction | None
    input_tokens: _Count


class _Todo(Record, frozen=True, kw_only=True):
    content: str
    status: str


class _Todos(Record, frozen=True, kw_only=True):
    todos: tuple[_Todo, ...]


class _Thought(Record, frozen=True, kw_only=True):
    thinking: str


class _Diff(Record, frozen=True, kw_only=True):
    file_path: str
    operation_type: str
    diff: str | None
    edits_count: _Count


FORMS: Final[Mapping[ActivityType, type[Record]]] = {
    "TOOL_CALL_START": _ToolCallStart,
    "TOOL_CALL_END": _ToolCallEnd,
    "COMPACTION_START": _CompactionStart,
    "COMPACTION_COMPLETE": _CompactionComplete,
    "CONTEXT_USAGE_UPDATE": _ContextUsage,
    "TODO_UPDATE": _Todos,
    "THOUGHT_COMPLETE": _Thought,
    "DIFF_PREVIEW": _Diff,
}


class CommandAdapter:
    """Reads the lines that are JSON objects with the key `activity`; all others are the program's answer."""

    fires: tuple[ActivityType, ...] = tuple(FORMS)

    def read_line(self, line: str) -> tuple[ActivityDraft, ...] | None:
        """Return the event that a line holds, or nothing; None for one that is no such event though it says so."""
        if not line.lstrip().startswith("{"):
            return ()
        event = adapter.decoded(line)
        if event is None or _TYPE not in event:
            return ()
        return (_draft(event),)


def is_activity(line: str) -> bool:
    """Whether a line is about the program's activity, and so no part of its answer."""
    if f'"{_TYPE}"' not in line or not line.lstrip().startswith("{"):
        return False
    return _TYPE in (adapter.decoded(line) or {})


def _draft(event: JsonObject) -> ActivityDraft:
    kind = event[_TYPE]
    if kind not in tuple(FORMS):  # it may be any JSON
        raise MalformedLineError(_TYPE)
    form = FORMS[kind]
    try:
        data = record.from_wire(form, event.get(_DATA, {}))
    except msgspec.ValidationError as error:
        raise MalformedLineError(str(error)) from error
    return ActivityDraft(type=str(kind), data=record.to_builtins(data))
