from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prloom.core.answers import json_answer
from prloom.core.answers.json_answer import LONGEST_ANSWER

EMPTY = {"items": []}
FULL = {
    "items": [{"eventId": "e1", "verdict": "answered", "reply": 'use `{"items": []}`, or {x: {y}} and "}" \\ done'}],
    "todos": [{"title": "a {brace", "context": "```json\n{}\n```", "eventIds": ["e1"]}],
    "rebaseRequested": False,
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("\ufeff  \n", "\n\n"),
        ("Here you are:\n\n```json\n", "\n```\n"),
        ("```\n", "\n```\nI hope that {helps}."),
        ("I looked at {placeholders}, {{ templates }} and f'{x!r}'. ", " {"),
        ('The format is {"eventId": "..."}, so: ', ' And {"note": 1}.'),
        ('{"items": [{"eventId": "draft"}]} was my first draft.\n', ""),
        ("}}}]]]{[(", '"'),
    ],
)
def test_the_answer_is_found_among_prose_and_fences(before: str, after: str) -> None:
    assert json_answer.find(before + json.dumps(FULL) + after, "items") == FULL
    assert json_answer.find(before + json.dumps(FULL, indent=4) + after, "items") == FULL


def test_the_last_answer_counts() -> None:
    first = {"items": [{"eventId": "e1", "verdict": "declined"}]}

    assert json_answer.find(f"{json.dumps(first)}\nOn second thoughts:\n{json.dumps(FULL)}", "items") == FULL
    assert json_answer.find(f"{json.dumps(FULL)}\nOn second thoughts:\n{json.dumps(first)}", "items") == first


def test_an_answer_inside_another_object_is_a_part_of_that() -> None:
    outer = {"items": [{"eventId": "e1", "items": [1]}], "todos": [{"items": [2]}]}

    assert json_answer.find(json.dumps(outer), "items") == outer
    assert json_answer.find('{"draft": {"items": []}}', "items") is None


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_of_an_answer_that_was_cut_nothing_is_taken(kept: float) -> None:
    text = json.dumps(FULL)

    assert json_answer.find(text[: int(len(text) * kept)], "items") is None


@pytest.mark.parametrize(
    "text", ["", "no", "{}", "[]", "null", '"items"', '{"todos": []}', "{items: []}", "{'items': []}"]
)
def test_where_there_is_no_answer_none_is_found(text: str) -> None:
    assert json_answer.find(text, "items") is None


def test_an_answer_behind_any_number_of_braces_is_found() -> None:
    noise = 'x = {"a": 1}; f"{y}" ' * 20_000

    assert json_answer.find(noise + json.dumps(EMPTY), "items") == EMPTY


def test_only_the_end_of_an_endless_message_is_searched() -> None:
    assert json_answer.find(json.dumps(EMPTY) + " " * LONGEST_ANSWER, "items") is None
    assert json_answer.find(" " * LONGEST_ANSWER + json.dumps(EMPTY), "items") == EMPTY


def test_of_thousands_of_objects_only_the_last_ones_are_looked_at() -> None:
    assert json_answer.find(json.dumps(EMPTY) + '{"a":1}' * 4999, "items") == EMPTY
    assert json_answer.find(json.dumps(EMPTY) + '{"a":1}' * 5000, "items") is None


@pytest.mark.parametrize(("tries", "found"), [(128, EMPTY), (129, None)])
def test_an_answer_behind_too_many_numbers_that_nobody_can_read_is_not_looked_for(tries: int, found: object) -> None:
    assert json_answer.find(f'{{"a":{"1" * 5000}' * tries + json.dumps(EMPTY), "items") == found


@pytest.mark.parametrize(("tries", "found"), [(15, EMPTY), (20, None)])
def test_an_answer_behind_too_much_that_was_read_in_vain_is_not_looked_for(tries: int, found: object) -> None:
    long = "x" * (LONGEST_ANSWER - 1000)

    assert json_answer.find('{"a":' * tries + f'"{long}"]' + json.dumps(EMPTY), "items") == found


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"',
        '{"a":',
        '{"a":[',
        '[{"a":',
        '{"a":1,',
        '{"items":[',
        '{"a":"' + "x" * 500 + '","b":',
        "{ " * 3 + '"',
        "{\n",
        '{"a":1}',
    ],
)
def test_no_text_takes_long_to_search(unit: str) -> None:
    text = unit * (LONGEST_ANSWER // len(unit))
    started = time.process_time()

    json_answer.find(text, "items")

    assert time.process_time() - started < 5  # a second at most; ten thousand of them where the work is quadratic


@given(text=st.text() | st.text(alphabet='{}[]":,items \\\n'))
@example(text='{"items": 1' + "0" * 5000 + "}")
@example(text='{"items": "\\ud83d"}')
@example(text='{"items": NaN}')
def test_no_text_is_an_error(text: str) -> None:
    found = json_answer.find(text, "items")

    assert found is None or "items" in found
