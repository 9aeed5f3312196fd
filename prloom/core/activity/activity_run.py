"""Keep what is open in the activity of one run: its start, tool calls and requests, to close them at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from prloom.model.activity import ActivityDraft, ActivityEvent
from prloom.model.record import Json

RUN_ENDED: Final = "the run ended"
"""The error of a tool call that was still open when its run ended."""

TOOL_CALL_START: Final = "TOOL_CALL_START"

_CALL: Final = "toolCallId"
_REQUEST: Final = "requestId"
_ENDS: Final = frozenset({"TOOL_CALL_END", "PERMISSION_RESPONSE"})


class OpenPart(NamedTuple):
    """Something that began and has not ended: the id of the event that began it, the tool, and when (Unix ms)."""

    event_id: str
    tool: str
    since: int


class RunParts:
    """What is open in a run, by its events so far. It grows with what is open, not with what has happened."""

    def __init__(self) -> None:
        self.start: str | None = None
        self.ended = False
        self._calls: dict[str, OpenPart] = {}
        self._requests: dict[str, OpenPart] = {}
        self._compaction: OpenPart | None = None

    def note(self, event: ActivityEvent) -> None:
        """Take in an event that has been written."""
        part = OpenPart(event.id, _text(event.data, "toolName"), event.timestamp)
        match event.type:
            case "AGENT_START":
                self.start = event.id
            case "AGENT_END":
                self.ended = True
            case "TOOL_CALL_START":
                self._calls[_text(event.data, _CALL)] = part
            case "TOOL_CALL_END":
                self._calls.pop(_text(event.data, _CALL), None)
            case "PERMISSION_REQUEST":
                self._requests[_text(event.data, _REQUEST)] = part
            case "PERMISSION_RESPONSE":
                self._requests.pop(_text(event.data, _REQUEST), None)
            case "COMPACTION_START":
                self._compaction = part
            case "COMPACTION_COMPLETE":
                self._compaction = None

    def parent(self, draft: ActivityDraft) -> str | None:
        """Return the id of the event that a new one belongs to: the start of what it ends, or of what it is within."""
        begun = self._begun_by(draft)
        if begun is not None:
            return begun.event_id
        if draft.call in self._calls:
            return self._calls[draft.call].event_id
        return self.start

    def completed(self, draft: ActivityDraft, now: int) -> ActivityDraft:
        """Return the end of a tool call with the tool's name and how long it took, where it lacks them."""
        begun = self._begun_by(draft)
        if draft.type != "TOOL_CALL_END":
            return draft
        data = dict(draft.data)
        if begun is not None:
            data["toolName"] = data.get("toolName") or begun.tool
            if data.get("durationMs") is None:
                data["durationMs"] = max(now - begun.since, 0)
        data.setdefault("toolName", "")
        data.setdefault("durationMs", None)
        return replace(draft, data=data)

    def is_open(self, call: str) -> bool:
        """Whether a tool call has begun and not ended."""
        return call in self._calls

    def is_closed(self, draft: ActivityDraft) -> bool:
        """Whether a draft ends what the end of the run has ended already: it comes too late to be written."""
        return self.ended and draft.type in _ENDS and self._begun_by(draft) is None

    def closing(self) -> tuple[ActivityDraft, ...]:
        """Return the ends of the requests and tool calls that are still open, in the order in which they began."""
        denied = [
            ActivityDraft(type="PERMISSION_RESPONSE", data={_REQUEST: request, "choice": "deny", "by": "timeout"})
            for request in self._requests
        ]
        return (*denied, *self._ended_calls())

    def _ended_calls(self) -> tuple[ActivityDraft, ...]:
        return tuple(
            ActivityDraft(
                type="TOOL_CALL_END",
                data={_CALL: call, "toolName": part.tool, "result": None, "success": False, "error": RUN_ENDED},
            )
            for call, part in self._calls.items()
        )

    def _begun_by(self, draft: ActivityDraft) -> OpenPart | None:
        match draft.type:
            case "TOOL_CALL_END":
                return self._calls.get(_text(draft.data, _CALL))
            case "PERMISSION_RESPONSE":
                return self._requests.get(_text(draft.data, _REQUEST))
            case "COMPACTION_COMPLETE":
                return self._compaction
        return None


def _text(data: Mapping[str, Json], key: str) -> str:
    found = data.get(key)
    if isinstance(found, str):
        return found
    return ""
