from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePath

import pytest
from msgspec.structs import replace

from prloom.core.activity import activity_data
from prloom.core.activity.activity_run import RUN_ENDED, RunParts
from prloom.core.text.secret_scan import MASK, SecretMask
from prloom.model.activity import ActivityDraft, ActivityEvent
from prloom.model.record import Json

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


def test_numbers_and_nothing_are_kept_as_they_are_and_what_else_there_is_becomes_a_text_without_secrets() -> None:
    kept = {"nothing": None, "yes": True, "half": 0.5, "long": (1 << 63) - 1}

    assert activity_data.cleaned({**kept, "longer": 1 << 63, "where": PurePath(KEY)}, KNOWN) == {
        **kept,
        "longer": str(1 << 63),
        "where": MASK,
    }


Wrap = Callable[[object], object]
WRAPS: tuple[Wrap, ...] = (lambda inner: [inner], lambda inner: {"in": inner})


def nested(levels: int, inner: object, wrap: Wrap = WRAPS[0]) -> object:
    """Return something within so many lists, or within what else wraps it."""
    for _ in range(levels):
        inner = wrap(inner)
    return inner


@pytest.mark.parametrize("wrap", WRAPS, ids=["lists", "objects"])
def test_data_of_forty_levels_are_kept_as_they_are(wrap: Wrap) -> None:
    data = {"arguments": nested(40, "deep", wrap)}

    assert activity_data.cleaned(data, NOTHING) == data


@pytest.mark.parametrize("wrap", WRAPS, ids=["lists", "objects"])
def test_data_that_are_deeper_are_cut_there_and_marked_with_their_size(wrap: Wrap) -> None:
    data = {"arguments": nested(100, "deep", wrap), "toolName": "Bash"}

    assert activity_data.cleaned(data, NOTHING) == {
        "arguments": nested(40, "…", wrap),
        "toolName": "Bash",
        "truncated": True,
        "originalBytes": len(json.dumps(data, separators=(",", ":"))),
    }


@pytest.mark.parametrize(
    ("data", "shortened"),
    [
        ({"a": "é" * 100_000, "b": 7}, {"a": "é" * 16_384 + "…", "b": 7}),
        ({"a": {"b": "x" * 70_000}}, {"a": {"b": "x" * 32_768 + "…"}}),
        (
            {"a": "x" * 32_768, "b": "x" * 16_384, "c": "x" * 16_384},
            {"a": "x" * 16_384 + "…", "b": "x" * 16_384, "c": "x" * 16_384},
        ),
        ({"a": nested(3, "x", lambda each: [each] * 40)}, {"a": nested(3, "x", lambda each: [each] * 16)}),
        ({"a": nested(4, "x", lambda each: [each] * 17), "b": 7}, {"a": "…", "b": "…"}),
    ],
    ids=["a text", "an object", "slightly too long", "lists", "lists of which no part fits"],
)
def test_the_longest_parts_are_halved_until_all_fit(data: dict[str, Json], shortened: dict[str, Json]) -> None:
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())

    assert activity_data.cleaned(data, NOTHING) == {**shortened, "truncated": True, "originalBytes": size}


def test_data_that_are_too_deep_and_too_long_fit_and_have_their_whole_size() -> None:
    data = {"arguments": nested(100, "x" * 60_000), "result": "y" * 65_300}
    clean = activity_data.cleaned(data, NOTHING)

    assert len(json.dumps(clean)) <= activity_data.LIMIT
    assert clean["originalBytes"] == len(json.dumps(data, separators=(",", ":")))


def test_data_too_deep_for_any_json_are_cut_all_the_same() -> None:
    clean = activity_data.cleaned({"arguments": nested(100_000, "deep")}, NOTHING)

    assert clean["truncated"] is True
    assert clean["arguments"] == nested(40, "…")


@pytest.mark.parametrize(
    ("call", "now", "said", "completed"),
    [
        ("c", 1_250, {}, {"toolName": "Bash", "durationMs": 250}),
        ("c", 900, {}, {"toolName": "Bash", "durationMs": 0}),
        ("c", 1_250, {"toolName": "Shell", "durationMs": 7}, {"toolName": "Shell", "durationMs": 7}),
        ("another", 1_250, {}, {"toolName": "", "durationMs": None}),
    ],
)
def test_the_end_of_a_tool_call_gets_the_name_of_the_tool_and_how_long_it_took_where_it_lacks_them(
    call: str, now: int, said: dict[str, Json], completed: dict[str, Json]
) -> None:
    parts = RunParts()
    parts.note(an_event("TOOL_CALL_START", 1_000, 2, toolCallId="c", toolName="Bash", arguments={}))
    end = {"toolCallId": call, "result": "x", "success": True, "error": None, **said}

    assert parts.completed(ActivityDraft(type="TOOL_CALL_END", data=end), now).data == {**end, **completed}


def test_an_event_belongs_to_the_run_or_to_the_tool_call_within_which_it_happened() -> None:
    parts = RunParts()
    parts.note(an_event("AGENT_START", 0))
    parts.note(an_event("TOOL_CALL_START", 0, 2, toolCallId="task", toolName="Task", arguments={}))
    assert parts.parent(ActivityDraft(type="THOUGHT_COMPLETE", data={})) == "r:1"
    assert parts.parent(ActivityDraft(type="THOUGHT_COMPLETE", data={}, call="task")) == "r:2"


CALL_END = ActivityDraft(type="TOOL_CALL_END", data={"toolCallId": "c"})
ANSWER = ActivityDraft(type="PERMISSION_RESPONSE", data={"requestId": "q"})
COMPACTED = ActivityDraft(type="COMPACTION_COMPLETE", data={})


def test_what_ends_a_tool_call_a_request_or_a_compaction_belongs_to_its_start_as_long_as_that_is_open() -> None:
    parts, found = RunParts(), []
    for number, kind in enumerate(("AGENT_START", "TOOL_CALL_START", "PERMISSION_REQUEST", "COMPACTION_START"), 1):
        found.append([parts.parent(draft) for draft in (CALL_END, ANSWER, COMPACTED)])
        parts.note(an_event(kind, 0, number, toolCallId="c", requestId="q"))
    for number, draft in enumerate((CALL_END, ANSWER, COMPACTED, CALL_END, ANSWER), 5):
        found.append([parts.parent(draft) for draft in (CALL_END, ANSWER, COMPACTED)])
        parts.note(an_event(draft.type, 0, number, **draft.data))

    assert found == [
        [None, None, None],
        ["r:1", "r:1", "r:1"],
        ["r:2", "r:1", "r:1"],
        ["r:2", "r:3", "r:1"],
        ["r:2", "r:3", "r:4"],
        ["r:1", "r:3", "r:4"],
        ["r:1", "r:1", "r:4"],
        *[["r:1", "r:1", "r:1"]] * 2,
    ]


def test_requests_and_tool_calls_that_are_open_at_the_end_are_denied_and_closed_in_their_order() -> None:
    parts = RunParts()
    for number, call in enumerate("abc"):
        parts.note(an_event("TOOL_CALL_START", 0, number, toolCallId=call, toolName="Bash", arguments={}))
    parts.note(an_event("TOOL_CALL_END", 0, 9, toolCallId="b"))
    parts.note(an_event("PERMISSION_REQUEST", 0, 10, requestId="q"))
    ended = {"toolName": "Bash", "result": None, "success": False, "error": RUN_ENDED}

    assert parts.closing() == (
        replace(ANSWER, data={"requestId": "q", "choice": "deny", "by": "timeout"}),
        *(replace(CALL_END, data={"toolCallId": call, **ended}) for call in "ac"),
    )
