"""What the adapters of all agent programs have in common: their interface, and the drafts that they make."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, cast

from prloom.model import kinds
from prloom.model.activity import ActivityDraft
from prloom.model.kinds import ActivityType
from prloom.model.record import JsonObject

_LONGEST_DIFF: Final = 64 * 1024
"""Characters of a text up to which its differences are worked out; longer ones are shown as they are."""


class Adapter(Protocol):
    """Reads the output of one run; what it keeps of earlier lines depends on nothing but these lines.

    `fires` are the types of events that the program's output can lead to.
    """

    fires: tuple[ActivityType, ...]

    def read(self, event: JsonObject) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know.

        Raises MalformedLineError for a line of a known type that lacks what it needs.
        """


class PlainAdapter(Protocol):
    """An adapter of a program whose output need not be JSON."""

    fires: tuple[ActivityType, ...]

    def read_line(self, line: str) -> tuple[ActivityDraft, ...] | None:
        """Return what a line says that the agent did; None for one that it does not know."""


class MalformedLineError(Exception):
    """A line of a known type lacks something that it needs."""


def read_line(adapter: Adapter | PlainAdapter, line: str) -> tuple[ActivityDraft, ...]:
    """Return what a line of output says that the agent did: UNKNOWN where the adapter cannot tell; never raises."""
    if not line.strip():
        return ()
    try:
        found = _read(adapter, line)
    except (MalformedLineError, RecursionError):
        found = None
    if found is None:
        return (unknown(line),)
    return found


def _read(adapter: Adapter | PlainAdapter, line: str) -> tuple[ActivityDraft, ...] | None:
    if hasattr(adapter, "read_line"):
        return cast("PlainAdapter", adapter).read_line(line)
    event = decoded(line)
    if event is None:
        return None
    return adapter.read(event)


def decoded(line: str) -> JsonObject | None:
    """Return the JSON object that a line holds, or None."""
    try:
        event = json.loads(line)  # not msgspec: these are lines of other programs, and some print NaN
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict):
        return cast("JsonObject", event)
    return None


def unknown(line: str) -> ActivityDraft:
    """Return the event of a line that no adapter knows."""
    return ActivityDraft(type=kinds.UNKNOWN_ACTIVITY, data={"line": line})


def required(event: JsonObject, key: str) -> str:
    """Return the text at the key; raises MalformedLineError where there is none."""
    found = event.get(key)
    if not isinstance(found, str) or not found:
        raise MalformedLineError(key)
    return found


def started(call: str, tool: str, arguments: object, *, within: str | None = None) -> ActivityDraft:
    """Return the beginning of a tool call, `within` another one where a sub-agent makes it."""
    given: object = arguments
    if not isinstance(arguments, Mapping):
        given = {}
    data = {"toolCallId": call, "toolName": tool, "arguments": given}
    return ActivityDraft(type="TOOL_CALL_START", data=data, call=within)


def ended(call: str, result: object, *, error: str | None = None, took_ms: int | None = None) -> ActivityDraft:
    """Return the end of a tool call; one with an error has failed."""
    data: dict[str, Any] = {"toolCallId": call, "result": result, "success": error is None, "error": error}
    if took_ms is not None:
        data["durationMs"] = took_ms
    return ActivityDraft(type="TOOL_CALL_END", data=data)


def thought(text: str, *, within: str | None = None) -> tuple[ActivityDraft, ...]:
    """Return the event of something that the model thought; none where that is not shown."""
    if not text.strip():
        return ()
    return (ActivityDraft(type="THOUGHT_COMPLETE", data={"thinking": text}, call=within),)


def context_usage(tokens: int) -> ActivityDraft:
    """Return how much the model was given; how much it can take is in no stream before the run ends."""
    return ActivityDraft(type="CONTEXT_USAGE_UPDATE", data={"contextUsage": None, "inputTokens": tokens})


def todos(items: Iterable[JsonObject], *, text: str = "content", within: str | None = None) -> ActivityDraft:
    """Return the agent's own list of what there is to do: what, and `pending`, `in_progress` or `completed`.

    An item without a text is left out: the list is what a model has written, and its tool may refuse it.
    """
    listed = []
    for item in items:
        content, status = item.get(text), item.get("status")
        if not isinstance(content, str):
            continue
        if not isinstance(status, str):
            status = "completed" if item.get("completed") is True else "pending"
        listed.append({"content": content, "status": status})
    return ActivityDraft(type="TODO_UPDATE", data={"todos": listed}, call=within)


def preview(path: str, operation: str, diff: str | None, *, edits: int = 1, within: str | None = None) -> ActivityDraft:
    """Return what a tool changes in a file."""
    data = {"filePath": path, "operationType": operation, "diff": diff, "editsCount": edits}
    return ActivityDraft(type="DIFF_PREVIEW", data=data, call=within)


def difference(path: str, old: str, new: str) -> str:
    """Return a unified diff of two texts of a file, without what they have in common."""
    if len(old) + len(new) > _LONGEST_DIFF:
        return new
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, n=1, lineterm="")
    return "\n".join(lines)
