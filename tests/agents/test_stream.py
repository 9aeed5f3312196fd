"""Lines of other programs, of any shape."""

from __future__ import annotations

from prloom.agents import stream


def test_lines_that_hold_no_object_are_passed_over() -> None:
    output = 'Warning: {colours}\n{"type": "a"}\n[1]\n{"torn": \n\n  {"type": "b"}\r\n{"type": "c"'

    assert [event["type"] for event in stream.events(output)] == ["a", "b"]


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    (event,) = stream.events('{"text": "one\u2028two\\u0085three"}')

    assert stream.text(event, "text") == "one\u2028two\u0085three"


def test_a_bottomless_line_is_passed_over() -> None:
    assert list(stream.events('{"a":' * 100_000)) == []


def test_a_path_that_is_not_there_is_an_empty_object() -> None:
    assert stream.obj({"a": {"b": 1}}, "a", "b") == {}
    assert stream.obj({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}


def test_a_truth_value_is_no_number() -> None:
    event: stream.Json = {"yes": True, "whole": 3, "part": 0.5, "never": float("nan"), "word": "3"}

    assert [stream.count(event, key) for key in event] == [None, 3, None, None, None]
    assert [stream.amount(event, key) for key in event] == [None, 3.0, 0.5, None, None]


def test_only_the_objects_of_a_list_count() -> None:
    assert stream.objects({"list": [1, {"a": 1}, None, "b"]}, "list") == ({"a": 1},)
    assert stream.objects({"list": {"a": 1}}, "list") == ()
