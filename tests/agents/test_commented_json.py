"""Settings with comments and trailing commas."""

from __future__ import annotations

import pytest

from prloom.agents import commented_json


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{ // one\n "a": [1, 2, /* three, */ ], }', {"a": [1, 2]}),
        ('{"a": "http://x/*,]", "b": "\\"//,}"}', {"a": "http://x/*,]", "b": '"//,}'}),
        ("[1]", {}),
        ("{", {}),
        ("", {}),
    ],
)
def test_what_is_no_json_in_the_settings_is_left_out(text: str, found: object) -> None:
    assert commented_json.read(text) == found


def test_a_very_long_text_is_read_at_once() -> None:
    assert commented_json.read('{"' + "\\" * 1_000_000) == {}
