"""What the adapters make of lines that are of a known type, and wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prloom.agents import registry
from prloom.agents.activity import adapter


def read(agent: str, *events: Any) -> list[str]:
    """Return the types of the events that the adapter of an agent program makes of these lines."""
    reading = registry.activity_adapter(agent)
    return [draft.type for event in events for draft in adapter.read_line(reading, json.dumps(event))]


@pytest.mark.parametrize(
    ("fraction", "known"),
    [*((each, True) for each in (0, 0.25, 1, None)), *((each, False) for each in (-0.1, 1.5, 42, "half"))],
)
def test_a_command_tells_what_fraction_of_its_context_is_used_and_what_is_none_is_unknown(
    fraction: Any, *, known: bool
) -> None:
    for kind, data in (
        ("CONTEXT_USAGE_UPDATE", {"contextUsage": fraction, "inputTokens": 5}),
        ("COMPACTION_COMPLETE", {"oldContextUsage": fraction, "newContextUsage": 0.1}),
        ("COMPACTION_COMPLETE", {"oldContextUsage": 0.1, "newContextUsage": fraction}),
    ):
        assert read("command", {"activity": kind, "data": data}) == [kind if known else "UNKNOWN"]


def test_negative_counts_of_a_command_are_unknown() -> None:
    data = {"contextUsage": None, "inputTokens": -1}
    assert read("command", {"activity": "CONTEXT_USAGE_UPDATE", "data": data}) == ["UNKNOWN"]


@pytest.mark.parametrize("kind", [["TOOL_CALL_START"], {}, None, 7, "AGENT_END", "MADE_UP"])
def test_a_type_of_activity_that_a_command_cannot_report_is_unknown(kind: Any) -> None:
    assert read("command", {"activity": kind, "data": {}}) == ["UNKNOWN"]


@pytest.mark.parametrize("value", [[], ["x"], {}, 7, True])
@pytest.mark.parametrize(
    ("agent", "event", "key"),
    [
        ("claude", {"type": "assistant"}, "type"),
        ("amp", {"type": "system", "subtype": "init"}, "subtype"),
        ("codex", {"type": "item.completed", "item": {"type": "reasoning"}}, "type"),
        ("gemini", {"type": "init"}, "type"),
        ("opencode", {"type": "step_start"}, "type"),
    ],
)
def test_a_line_whose_type_is_no_text_is_unknown(agent: str, event: dict[str, Any], key: str, value: Any) -> None:
    assert read(agent, {**event, key: value}) == ["UNKNOWN"]


@pytest.mark.parametrize("status", [[], {}, 7])
def test_a_call_whose_status_is_no_text_is_unknown(status: Any) -> None:
    item = {"id": "item_1", "type": "command_execution", "command": "ls", "status": status}
    part = {"callID": "c-1", "tool": "bash", "state": {"status": status, "input": {"command": "ls"}}}

    assert read("codex", {"type": "item.completed", "item": item}) == ["UNKNOWN"]
    assert read("opencode", {"type": "tool_use", "part": part}) == ["UNKNOWN"]


def test_a_change_of_codex_that_was_malformed_when_it_began_is_told_of_as_a_whole_when_it_is_over() -> None:
    malformed = {"id": "i", "type": "file_change", "changes": [{"kind": "add"}]}
    whole = {"id": "i", "type": "file_change", "status": "completed", "changes": [{"path": "a", "kind": "add"}]}
    lines = [{"type": "item.started", "item": malformed}, {"type": "item.completed", "item": whole}]
    assert read("codex", *lines) == ["UNKNOWN", "TOOL_CALL_START", "DIFF_PREVIEW", "TOOL_CALL_END"]


@pytest.mark.parametrize(
    ("agent", "called", "over"),
    [
        (
            "claude",
            {
                "type": "assistant",
                "message": {
                    "content": [{"type": "tool_use", "id": "i", "name": "TodoWrite", "input": {"todos": [{"text": 1}]}}]
                },
            },
            {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "i", "content": "no"}]}},
        ),
        (
            "gemini",
            {"type": "tool_use", "tool_id": "i", "tool_name": "write_todos", "parameters": {"todos": [{"text": 1}]}},
            {"type": "tool_result", "tool_id": "i", "status": "error"},
        ),
    ],
)
def test_a_call_with_a_list_that_its_tool_refuses_has_a_start_and_an_end(agent: str, called: Any, over: Any) -> None:
    assert read(agent, called, over) == ["TOOL_CALL_START", "TODO_UPDATE", "TOOL_CALL_END"]
