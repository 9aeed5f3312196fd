from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.model import record
from prloom.model.event import Author, Event, Target, digest

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TEXTS = st.text()
EVENTS = st.builds(
    Event,
    id=st.text(min_size=1, max_size=512),
    source=TEXTS,
    type=TEXTS,
    severity=st.sampled_from(["info", "warning", "error"]),
    title=TEXTS,
    body=TEXTS,
    reply_to=st.none() | st.builds(Target, target=st.text(min_size=1), token=JSON),
    context=st.dictionaries(TEXTS, JSON, max_size=3),
    author=st.none() | st.builds(Author, login=st.text(min_size=1), trust=st.none() | TEXTS, bot=st.booleans()),
    url=st.none() | TEXTS,
    created_at=st.none() | TEXTS,
    pr=st.none() | st.integers(0, 2**31),
)

FULL = {
    "id": "gh-1",
    "source": "github",
    "type": "pr_review_comment",
    "severity": "warning",
    "title": "Naming",
    "body": "Please rename it.",
    "replyTo": {"target": "github", "token": {"thread": 1}},
    "context": {"file": "a.py", "line": 3},
    "author": {"login": "ann", "trust": "write", "bot": False},
    "url": "https://x/1",
    "createdAt": "2026-11-21T12:00:00Z",
    "pr": 7,
}
LEAST = {"id": "e1", "source": "cli", "type": "pr_comment"}


def test_an_event_has_the_fields_of_the_bus_in_camel_case() -> None:
    event = record.from_wire(Event, FULL)

    assert (event.reply_to, event.author) == (Target("github", {"thread": 1}), Author("ann", "write"))
    assert (event.created_at, event.severity, event.pr) == ("2026-11-21T12:00:00Z", "warning", 7)
    assert record.to_wire(event) == FULL


def test_of_an_event_only_id_source_and_type_are_needed() -> None:
    event = record.from_wire(Event, LEAST)

    assert (event.severity, event.title, event.body, event.context) == ("info", "", "", {})
    assert (event.reply_to, event.author, event.url, event.created_at, event.pr) == (None,) * 5


def test_what_is_not_known_of_an_event_is_left_out_of_its_line() -> None:
    wire = record.to_wire(record.from_wire(Event, LEAST))

    assert wire == {**LEAST, "severity": "info", "title": "", "body": "", "context": {}}


@given(event=EVENTS)
def test_an_event_comes_out_of_its_line_as_it_went_in(event: Event) -> None:
    line = msgspec.json.encode(record.to_wire(event))

    assert b"\n" not in line
    assert record.from_wire(Event, msgspec.json.decode(line)) == event


@pytest.mark.parametrize("place", [(), ("replyTo",), ("author",)])
def test_fields_that_are_not_known_are_ignored(place: tuple[str, ...]) -> None:
    wire = msgspec.json.decode(msgspec.json.encode(FULL))
    inner = wire
    for key in place:
        inner = inner[key]
    inner["fromTheFuture"] = {"x": [1]}

    assert record.from_wire(Event, wire) == record.from_wire(Event, FULL)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": ""}, "Expected `str` of length >= 1 - at `$.id`"),
        ({"id": "x" * 513}, "Expected `str` of length <= 512 - at `$.id`"),
        ({"id": 7}, "Expected `str`, got `int` - at `$.id`"),
        ({"severity": "fatal"}, "Invalid enum value 'fatal' - at `$.severity`"),
        ({"body": None}, "Expected `str`, got `null` - at `$.body`"),
        ({"context": []}, "Expected `object`, got `array` - at `$.context`"),
        ({"replyTo": {"target": ""}}, "Expected `str` of length >= 1 - at `$.replyTo.target`"),
        ({"author": {"trust": "admin"}}, "Object missing required field `login` - at `$.author`"),
        ({"author": {"login": ""}}, "Expected `str` of length >= 1 - at `$.author.login`"),
        ({"author": "ann"}, "Expected `object | null`, got `str` - at `$.author`"),
        ({"pr": "7"}, "Expected `int | null`, got `str` - at `$.pr`"),
    ],
)
def test_a_line_that_is_no_event_says_which_field_is_at_fault(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        record.from_wire(Event, {**LEAST, **change})

    assert str(caught.value) == problem


@pytest.mark.parametrize("field", ["id", "source", "type"])
def test_an_event_without_a_needed_field_says_which(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"Object missing required field `{field}`"):
        record.from_wire(Event, record.without(LEAST, field))


@pytest.mark.parametrize(
    ("context", "older"),
    [({}, None), ({"supersedes": "e0"}, "e0"), ({"supersedes": 7}, None), ({"supersedes": None}, None)],
)
def test_an_edit_names_the_event_that_it_supersedes(context: dict[str, Any], older: str | None) -> None:
    assert Event(id="e1", source="s", type="t", context=context).supersedes == older


# ---- the text that a person vouches for


@given(event=EVENTS, other=EVENTS)
def test_two_texts_have_one_digest_only_if_they_are_the_same_to_the_letter(event: Event, other: Event) -> None:
    same = (event.title, event.body) == (other.title, other.body)

    assert (digest(event) == digest(other)) is same


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a", "b"), ("a", "b ")), (("a", "b"), ("b", "a")), (("a\0b", "c"), ("a", "b\0c")), (("", "a"), ("a", ""))],
)
def test_no_text_passes_for_another(first: tuple[str, str], second: tuple[str, str]) -> None:
    one, two = (Event(id="e", source="s", type="t", title=title, body=body) for title, body in (first, second))

    assert digest(one) != digest(two)


def test_a_digest_is_about_the_text_and_nothing_else() -> None:
    one = Event(id="e1", source="s", type="t", title="a", body="b")
    two = Event(id="e2", source="z", type="u", title="a", body="b", url="x", author=Author("ann"))

    assert digest(one) == digest(two)


def test_a_text_that_is_cut_in_the_middle_of_an_emoji_has_a_digest() -> None:
    assert len(digest(Event(id="e", source="s", type="t", body="\ud83d"))) == 32
