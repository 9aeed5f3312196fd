from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.storage import envelope
from prloom.storage.envelope import Envelope
from prloom.storage.json_codec import Unreadable

TS = "2026-11-21T06:54:50.288Z"
texts = st.text(st.characters(), max_size=20)  # lone surrogates too
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def reason(line: bytes) -> str:
    found = envelope.decode(line)
    assert isinstance(found, Unreadable)
    return found.reason


def test_a_line_says_when_what_and_in_which_version() -> None:
    line = envelope.encode("event", {"id": "a"}, TS)

    assert line == b'{"ts":"2026-11-21T06:54:50.288Z","kind":"event","schemaVersion":1,"data":{"id":"a"}}'
    assert envelope.decode(line) == Envelope(kind="event", data={"id": "a"}, ts=TS)


@given(data=st.dictionaries(texts, values, max_size=4))
def test_whatever_is_in_it_a_line_is_one_line_of_utf8_and_comes_back(data: dict[str, object]) -> None:
    line = envelope.encode("event", data, TS)
    found = envelope.decode(line)

    assert b"\n" not in line
    assert json.loads(line.decode("utf-8"))["kind"] == "event"
    assert isinstance(found, Envelope)
    if "\\ud" not in json.dumps(data):  # what is no half of a surrogate pair comes back as it was
        assert found.data == data


def test_half_an_emoji_becomes_a_replacement_and_never_an_error() -> None:
    found = envelope.decode(envelope.encode("event", {"body": "cut \ud83d", "n": (1, "\ude00")}, TS))

    assert isinstance(found, Envelope)
    assert found.data == {"body": "cut \ufffd", "n": [1, "\ufffd"]}


def test_a_foreign_line_with_half_an_emoji_is_not_lost() -> None:
    found = envelope.decode(rb'{"ts":"x","kind":"event","schemaVersion":1,"data":{"body":"cut \ud83d"}}')

    assert isinstance(found, Envelope)
    assert found.data == {"body": "cut \ufffd"}


def test_unknown_fields_and_any_order_are_fine() -> None:
    found = envelope.decode(b' { "data": {"id": "a", "x": null}, "extra": [1], "schemaVersion": 1, "kind": "event" }\r')

    assert found == Envelope(kind="event", data={"id": "a", "x": None}, ts="")


@pytest.mark.parametrize("version", [2, 99])
def test_a_line_of_a_newer_prloom_is_unreadable_and_says_so(version: int) -> None:
    line = b'{"ts":"x","kind":"event","schemaVersion":%d,"data":{}}' % version

    assert reason(line) == f"its schemaVersion is {version}, and this prloom knows 1; update prloom"


def test_a_newer_line_is_recognised_even_if_its_shape_is_new() -> None:
    assert "update prloom" in reason(b'{"schemaVersion":2,"kind":["event"],"payload":{}}')


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "truncated"),
        (b"not json", "malformed"),
        (b'{"ts":"x","kind":"event","schemaVersion":1,"data":{"id":', "truncated"),
        (b'{"kind":"event","data":{}}{"kind":"event","data":{}}', "trailing characters"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'{"id":"a","source":"s"}', "missing required field `kind`"),
        (b'{"kind":"event"}', "missing required field `data`"),
        (b'{"kind":"event","data":[1]}', "`$.data`"),
        (b'{"kind":1,"data":{}}', "`$.kind`"),
        (b'{"kind":"event","data":{},"schemaVersion":"1"}', "`$.schemaVersion`"),
        (b'{"kind":"event","data":{},"schemaVersion":true}', "`$.schemaVersion`"),
        (b'{"kind":"event","data":{},"schemaVersion":0}', "schemaVersion is 0"),
        (b'{"kind":"event","data":{"a":"\xff"}}', "not UTF-8"),
        (b'{"kind":"event","data":' + b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_envelope_is_unreadable_and_says_why(line: bytes, why: str) -> None:
    assert why in reason(line)


@given(st.binary(max_size=60))
def test_no_bytes_whatever_raise(line: bytes) -> None:
    assert isinstance(envelope.decode(line), Envelope | Unreadable)
