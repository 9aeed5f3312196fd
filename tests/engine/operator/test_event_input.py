from __future__ import annotations

import json
from typing import Any

import pytest

from prloom.api import Author, Event
from prloom.engine.operator import emit
from prloom.errors import PrloomError

A = {"id": "a", "source": "ci", "type": "check_failed"}
B = {"id": "b", "source": "ci", "type": "pr_comment", "body": "hi", "unknown": 1}


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (json.dumps(A), ["a"]),
        (json.dumps(A, indent=2), ["a"]),
        (json.dumps([A, B]), ["a", "b"]),
        (f"{json.dumps(A)}\n{json.dumps(B)}\n", ["a", "b"]),
        (f"\n{json.dumps(A)}\r\n\n{json.dumps(B)}", ["a", "b"]),
        (json.dumps({"ts": "t", "kind": "event", "schemaVersion": 1, "data": A}), ["a"]),
    ],
)
def test_an_object_an_array_and_lines_are_read(text: str, ids: list[str]) -> None:
    assert [event.id for event in emit.parse(text.encode(), "f.json")] == ids


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no event in it; write an object with id, source and type"),
        ("[]", "there is no event in it"),
        (
            "{",
            "line 1, column 2: not valid JSON: Expecting property name enclosed in double quotes; fix that place, or",
        ),
        ('{\n "id": "a",\n "source": ci\n}', "line 3, column 12: not valid JSON: Expecting value; fix that place"),
        (f"{json.dumps(A)}\n{{nonsense", "line 2, column 2: not valid JSON: Expecting property name"),
        ("[" * 5000, "line 1: not valid JSON: it is nested too deeply; fix that place"),
        (json.dumps(A | {"id": "x" * 513}), "the event: its id has 513 characters; use at most 512"),
        (
            json.dumps(A | {"context": nested(100)}),
            "the event: it is nested more than 100 levels deep; use fewer levels",
        ),
        ("7", "the event: Expected `object`, got `int`; an event has at least an id, a source and a type"),
        (json.dumps([A, {"id": "b", "source": "ci"}]), "event 2: Object missing required field `type`"),
        (json.dumps(A | {"id": ""}), "the event: its id is empty; give each event an id of its own"),
        (json.dumps(A | {"severity": "grave"}), "the event: Invalid enum value 'grave' - at `$.severity`"),
        (json.dumps(A | {"type": " "}), "the event: type is empty"),
        (json.dumps(A | {"source": ""}), "the event: source is empty"),
        (json.dumps(A | {"createdAt": "soon"}), "the event: createdAt is not a time: "),
        (json.dumps([A, A]), "two of its events have the id a; an id means one event"),
        (f"{json.dumps(A)}\n" + json.dumps(B | {"body": 7}), "line 2: Expected `str`, got `int` - at `$.body`"),
    ],
)
def test_what_is_wrong_is_said_of_the_first_that_is(text: str, said: str) -> None:
    with pytest.raises(PrloomError) as refused:
        emit.parse(text.encode(), "f.json")

    assert str(refused.value).startswith(f"f.json: {said}")


@pytest.mark.parametrize(
    ("author", "trust", "result"),
    [
        (None, None, None),
        (None, "none", Author("cli", "none")),
        (Author("eve"), None, Author("eve", "operator")),
        (Author("eve"), "read", Author("eve", "read")),
        (Author("eve", "none"), None, Author("eve", "none")),
        (Author("eve", "none"), "write", Author("eve", "write")),
    ],
)
def test_an_event_speaks_for_the_operator_unless_it_or_the_command_says_less(
    author: Author | None, trust: str | None, result: Author | None
) -> None:
    event = Event(id="e", source="cli", type="pr_comment", author=author)

    assert emit.with_trust(event, trust).author == result
