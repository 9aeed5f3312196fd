from __future__ import annotations

import json

import pytest

from prloom.core.activity import activity_data
from prloom.core.activity.activity_run import RUN_ENDED, RunParts
from prloom.core.text.secret_mask import SecretMask
from prloom.core.text.secret_scan import MASK
from prloom.model.activity import ActivityDraft, ActivityEvent

KEY = "correct7horse9battery2staple"
KNOWN = SecretMask({"the value of A_KEY": KEY})
NOTHING = SecretMask({})


def an_event(kind: str, at: int = 0, number: int = 1, **data: object) -> ActivityEvent:
    return ActivityEvent(id=f"r:{number}", seq=number, type=kind, plan_id="p", run_id="r", timestamp=at, data=data)


def test_a_known_secret_is_taken_out_of_every_text_of_an_event_and_out_of_its_keys() -> None:
    data = {"arguments": {"command": f"curl -H 'x: {KEY}'", KEY: [f"a {KEY} b"]}, "toolName": "Bash"}
    clean = activity_data.cleaned(data, KNOWN)
    assert clean == {
        "arguments": {"command": f"curl -H 'x: {MASK}'", MASK: [f"a {MASK} b"]},
        "toolName": "Bash",
    }


@pytest.mark.parametrize("disguised", [KEY[::-1], KEY.encode().hex(), "Y29ycmVjdDdob3JzZTliYXR0ZXJ5MnN0YXBsZQ=="])
def test_of_a_text_with_a_disguised_secret_nothing_is_kept(disguised: str) -> None:
    assert activity_data.cleaned({"result": f"it is {disguised}."}, KNOWN) == {"result": MASK}


@pytest.mark.parametrize(
    "key",
    [
        "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "sk-ant-api03-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "aws_secret_access_key = " + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
        "xoxb-" + "123456789012-a1B2c3D4e5F6g7H8i9J0",
        "AKIA" + "ABCDEFGHIJ234567",
    ],
)
def test_what_has_the_form_of_a_key_is_taken_out_though_nobody_knows_it(key: str) -> None:
    shown = activity_data.cleaned({"result": f"before {key} after"}, NOTHING)["result"]
    assert MASK in shown
    assert key not in shown


def test_data_of_up_to_64_kib_are_kept_as_they_are() -> None:
    assert activity_data.cleaned({"result": "a" * 65_000}, NOTHING) == {"result": "a" * 65_000}


@pytest.mark.parametrize(
    "data",
    [
        {"result": "é" * 100_000, "toolName": "Bash"},
        {"arguments": {"lines": ["a line of text"] * 90_000}, "toolName": "Bash"},
        {"arguments": {f"key {number}": number for number in range(90_000)}, "toolName": "Bash"},
    ],
)
def test_data_over_64_kib_are_shortened_and_marked_with_their_size(data: dict[str, object]) -> None:
    clean = activity_data.cleaned(data, NOTHING)
    with_spaces = len(json.dumps(clean, ensure_ascii=False).encode())
    assert with_spaces <= activity_data.LIMIT * 1.2
    assert clean["truncated"] is True
    assert clean["originalBytes"] == len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    assert clean["toolName"] == "Bash"


def test_a_secret_is_taken_out_before_a_text_is_shortened_so_that_no_half_of_it_is_left() -> None:
    clean = activity_data.cleaned({"result": "a" * 32_760 + KEY + "b" * 90_000}, KNOWN)
    assert KEY[:8] not in clean["result"]


def test_data_that_json_does_not_have_become_such_that_it_has() -> None:
    nested: object = "deep"
    for _ in range(500):
        nested = [nested]
    clean = activity_data.cleaned({"nan": float("nan"), "long": 1 << 70, "half": "\ud83d", "nested": nested}, NOTHING)
    assert clean["nan"] is None
    assert clean["long"] == str(1 << 70)
    assert clean["half"] == "\ufffd"
    json.dumps(clean)


def nested(levels: int, inner: object) -> object:
    """Return something within so many lists."""
    for _ in range(levels):
        inner = [inner]
    return inner


def test_data_of_forty_levels_are_kept_as_they_are() -> None:
    data = {"arguments": nested(40, "deep")}

    assert activity_data.cleaned(data, NOTHING) == data


def test_data_that_are_deeper_are_cut_there_and_marked_with_their_size() -> None:
    data = {"arguments": nested(100, "deep"), "toolName": "Bash"}

    assert activity_data.cleaned(data, NOTHING) == {
        "arguments": nested(40, "…"),
        "toolName": "Bash",
        "truncated": True,
        "originalBytes": len(json.dumps(data, separators=(",", ":"))),
    }


def test_data_that_are_too_deep_and_too_long_fit_and_have_their_whole_size() -> None:
    data = {"arguments": nested(100, "x" * 60_000), "result": "y" * 65_300}
    clean = activity_data.cleaned(data, NOTHING)

    assert len(json.dumps(clean)) <= activity_data.LIMIT
    assert clean["originalBytes"] == len(json.dumps(data, separators=(",", ":")))


def test_data_too_deep_for_any_json_are_cut_all_the_same() -> None:
    clean = activity_data.cleaned({"arguments": nested(100_000, "deep")}, NOTHING)

    assert clean["truncated"] is True
    assert clean["arguments"] == nested(40, "…")


def test_the_end_of_a_tool_call_gets_the_name_of_the_tool_and_how_long_it_took() -> None:
    parts = RunParts()
    parts.note(an_event("AGENT_START", 0))
    parts.note(an_event("TOOL_CALL_START", 1_000, 2, toolCallId="c", toolName="Bash", arguments={}))
    end = ActivityDraft(type="TOOL_CALL_END", data={"toolCallId": "c", "result": "x", "success": True, "error": None})
    assert parts.completed(end, 1_250).data["toolName"] == "Bash"
    assert parts.completed(end, 1_250).data["durationMs"] == 250
    assert parts.parent(end) == "r:2"


def test_an_event_belongs_to_the_run_or_to_the_tool_call_within_which_it_happened() -> None:
    parts = RunParts()
    parts.note(an_event("AGENT_START", 0))
    parts.note(an_event("TOOL_CALL_START", 0, 2, toolCallId="task", toolName="Task", arguments={}))
    assert parts.parent(ActivityDraft(type="THOUGHT_COMPLETE", data={})) == "r:1"
    assert parts.parent(ActivityDraft(type="THOUGHT_COMPLETE", data={}, call="task")) == "r:2"


def test_tool_calls_that_are_open_at_the_end_are_closed_in_their_order() -> None:
    parts = RunParts()
    for number, call in enumerate("abc"):
        parts.note(an_event("TOOL_CALL_START", 0, number, toolCallId=call, toolName="Bash", arguments={}))
    parts.note(an_event("TOOL_CALL_END", 0, 9, toolCallId="b"))
    closing = parts.closing()
    assert [draft.data["toolCallId"] for draft in closing] == ["a", "c"]
    assert {draft.data["error"] for draft in closing} == {RUN_ENDED}
    assert {draft.data["success"] for draft in closing} == {False}
