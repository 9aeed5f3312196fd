"""Tell people, a line for each, what of a run's activity the dispatcher handles: calls, confirmations and plugins."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Final

from prloom.agents import registry, stream
from prloom.agents.agent import StreamEntry
from prloom.model.activity import ActivityEvent
from prloom.model.record import Json
from prloom.storage.activity_file import StoredActivity

_PREFIXES: Final = tuple(
    sorted({each.tool_prefix for each in registry.AGENTS.values() if each.tool_prefix is not None})
)
"""What agent programs put before the name of a tool of prloom's server; a name as it stands comes first."""


class HandledActivity:
    """The lines of one run; a call that the program's own output shows is not shown a second time.

    Some programs print a call before they make it and others when it is over. So to each call of the dispatcher's that
    `printed_at` is asked about belongs one that the program has printed, or is still to print.
    """

    def __init__(self) -> None:
        self._printed: dict[str, deque[int]] = defaultdict(deque)
        self._shown: Counter[str] = Counter()
        self._calls: set[Json] = set()

    def entry(self, stored: StoredActivity) -> StreamEntry | None:
        """Return what to show of an event; None for what is not for people, and for what the program's output shows."""
        event, data = stored.event, stored.event.data
        match event.type:
            case "TOOL_CALL_START" if stored.position is None:
                return self._begun(data)
            case "TOOL_CALL_END" if data.get("toolCallId") in self._calls:
                return _ended(data)
            case "PERMISSION_REQUEST":
                return _remark(
                    f"{_text(data, 'toolName')} waits for a person: {_listed(data, 'requestId', 'arguments')}"
                )
            case "PERMISSION_RESPONSE":
                return _remark(f"the person's answer: {_listed(data, 'requestId', 'choice', 'by')}")
            case kind if kind.startswith("PLUGIN_"):
                return _remark(_of_plugin(event))
        return None

    def is_shown(self, printed: StreamEntry, at: int) -> bool:
        """Whether a call was shown already that the program prints in the line at this offset."""
        names = [printed.tool.removeprefix(each) for each in _PREFIXES if printed.tool.startswith(each)]
        found = next((each for each in names if self._shown[each] > 0), None)
        if found is not None:
            self._shown[found] -= 1
            return True
        self._printed[printed.tool].append(at)
        return False

    def printed_at(self, stored: StoredActivity) -> int | None:
        """Return the offset of the line in which the program has printed this call; None where it has not, so far."""
        if stored.event.type != "TOOL_CALL_START" or stored.position is not None:
            return None
        name = _text(stored.event.data, "toolName")
        calls = next((found for prefix in _PREFIXES if (found := self._printed[f"{prefix}{name}"])), None)
        if calls is not None:
            return calls.popleft()
        self._shown[name] += 1
        return None

    def _begun(self, data: Mapping[str, Json]) -> StreamEntry:
        name = _text(data, "toolName")
        self._calls.add(_text(data, "toolCallId"))
        given = data.get("arguments")
        if isinstance(given, dict):
            return stream.call(name, given)
        return StreamEntry(kind="call", tool=name, text="")


def _ended(data: Mapping[str, Json]) -> StreamEntry:
    if data.get("success") is True:
        return StreamEntry(kind="result", tool=_text(data, "toolName"), text=_result(data.get("result")))
    return StreamEntry(kind="error", tool=_text(data, "toolName"), text=_text(data, "error"))


def _result(result: Json) -> str:
    """Return what a call came to: its output, and its data if it has any."""
    match result:
        case {"output": str(output), "data": None}:
            return output
        case {"output": str(output), "data": data}:
            return f"{output} {json.dumps(data, ensure_ascii=False)}"
    return json.dumps(result, ensure_ascii=False)


def _of_plugin(event: ActivityEvent) -> str:
    """Return an event about a plugin: what happened, as the words of its type say it, and with what."""
    about = [key for key in event.data if key not in {"pluginName", "depth"}]
    what = event.type.removeprefix("PLUGIN_").replace("_", " ").lower()
    return f"plugin {_text(event.data, 'pluginName')}: {what}: {_listed(event.data, *about)}"


def _listed(data: Mapping[str, Json], *keys: str) -> str:
    return ", ".join(f"{key} {_text(data, key)}" for key in keys if data.get(key) not in (None, {}, []))


def _text(data: Mapping[str, Json], key: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _remark(text: str) -> StreamEntry:
    return StreamEntry(kind="remark", text=text)
