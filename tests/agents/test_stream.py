"""Lines of other programs, of any shape."""

from __future__ import annotations

from prloom.agents import parsing


def test_lines_that_hold_no_object_are_passed_over() -> None:
    output = 'Warning: {colours}\n{"type": "a"}\n[1]\n{"torn": \n\n  {"type": "b"}\r\n{"type": "c"'

    assert [event["type"] for event in parsing.events(output)] == ["a", "b"]


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    (event,) = parsing.events('{"text": "one\u2028two\\u0085three"}')

    assert parsing.text(event, "text") == "one\u2028two\u0085three"


def test_a_bottomless_line_is_passed_over() -> None:
    assert list(parsing.events('{"a":' * 100_000)) == []


def test_a_path_that_is_not_there_is_an_empty_object() -> None:
    assert parsing.obj({"a": {"b": 1}}, "a", "b") == {}
    assert parsing.obj({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}


def test_a_truth_value_is_no_number() -> None:
    event: parsing.Json = {"yes": True, "whole": 3, "part": 0.5, "never": float("nan"), "word": "3"}

    assert [parsing.count(event, key) for key in event] == [None, 3, None, None, None]
    assert [parsing.amount(event, key) for key in event] == [None, 3.0, 0.5, None, None]


def test_only_the_objects_of_a_list_count() -> None:
    assert parsing.objects({"list": [1, {"a": 1}, None, "b"]}, "list") == ({"a": 1},)
    assert parsing.objects({"list": {"a": 1}}, "list") == ()
