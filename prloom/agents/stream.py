"""Tell people what an agent does: what the streams of several programs have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from prloom.agents import parsing
from prloom.agents.agent import StreamEntry
from prloom.model.record import JsonObject

_TELLING: Final = ("command", "cmd", "file_path", "filePath", "path", "absolute_path", "dir_path", "pattern", "query")
"""The arguments of a tool that say what it does, the most telling first."""


def call(tool: str, given: JsonObject) -> StreamEntry:
    """Return the use of a tool, with the argument that says most about it."""
    for key in _TELLING:
        value = given.get(key)
        if isinstance(value, str) and value:
            return StreamEntry(kind="call", tool=tool, text=value)
    text = ""
    if given:
        text = json.dumps(given, ensure_ascii=False, default=str)
    return StreamEntry(kind="call", tool=tool, text=text)


def result(text: str, *, failed: bool) -> StreamEntry:
    """Return what came of the use of a tool."""
    if failed:
        return StreamEntry(kind="error", text=text)
    return StreamEntry(kind="result", text=text)


def of_messages(event: JsonObject) -> Iterator[StreamEntry]:
    """Yield what an event tells in the form that claude's stream has, and those of programs that copy it."""
    content = parsing.objects(parsing.obj(event, "message"), "content")
    match event.get("type"):
        case "assistant":
            for block in content:
                if block.get("type") == "text":
                    yield StreamEntry(kind="text", text=parsing.text(block, "text") or "")
                elif block.get("type") == "tool_use":
                    yield call(parsing.text(block, "name") or "?", parsing.obj(block, "input"))
        case "user":
            for block in content:
                if block.get("type") == "tool_result":
                    yield result(_result_text(block), failed=block.get("is_error") is True)
        case "result" if event.get("is_error") is True:
            yield StreamEntry(kind="error", text=parsing.text(event, "result") or _errors(event))


def _result_text(block: JsonObject) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(parsing.text(part, "text") or "" for part in parsing.objects(block, "content"))


def _errors(event: JsonObject) -> str:
    errors = event.get("errors")
    if isinstance(errors, list):
        return "; ".join(str(each) for each in errors)
    return parsing.text(event, "subtype") or "the run failed"
