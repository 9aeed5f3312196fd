from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from prloom.exchange import validation
from prloom.exchange.claim import Completed, Failed
from prloom.exchange.errors import ExchangeError
from prloom.exchange.message import new_id


@pytest.mark.parametrize("topic", ["work", "A.b_c-9", "x" * 200])
def test_a_topic_is_letters_digits_dots_lines_and_dashes(topic: str):
    assert validation.draft(topic, "x").topic == topic


@pytest.mark.parametrize("topic", ["", "a b", "a/b", "ä", "a\n", "../x", "x" * 201])
def test_anything_else_is_no_topic(topic: str):
    with pytest.raises(
        ExchangeError, match=r"is not a valid topic; use letters, digits, '\.', '_' and '-', at most 200"
    ):
        validation.draft(topic, "x")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"metadata": {"k": [1]}}, "metadata k is a list; use text, a number, true, false or null"),
        ({"metadata": {"k": float("nan")}}, "metadata k is a float; use text"),
        ({"metadata": {"": 1}}, "'' is not a valid metadata key; use up to 200 printable characters"),
        ({"metadata": {"k": "\udc80"}}, "the metadata k is not valid UTF-8 text"),
        ({"key": "a\nb"}, r"'a\\nb' is not a valid key; use up to 200 printable characters"),
        ({"conversation": ""}, "'' is not a valid conversation"),
        ({"producer": "\x1b[2J"}, "is not a valid producer"),
        ({"concurrency_key": "x" * 201}, "is not a valid concurrency key"),
        ({"delay": timedelta(seconds=-1)}, "is not possible; use 0 or more, at most ten years"),
        ({"delay": timedelta(days=9999)}, "is not possible"),
        ({"max_attempts": 0}, "0 is not a valid number of attempts; use 1 or more"),
    ],
)
def test_what_no_message_can_be_is_said_before_anything_is_stored(options: dict[str, Any], told: str):
    with pytest.raises(ExchangeError, match=told):
        validation.draft("work", "x", **options)


def test_a_body_that_utf_8_cannot_hold_is_refused():
    with pytest.raises(ExchangeError, match=r"the body is not valid UTF-8 text \(lone surrogate at 1\)"):
        validation.draft("work", "a\udcff")
    with pytest.raises(ExchangeError, match="the body is not valid"):
        validation.checked_settlement(Completed(body="\udcff"))
    with pytest.raises(ExchangeError, match="is not a valid topic"):
        validation.checked_settlement(Failed(error="x", topic="a b"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lease": timedelta(0)}, "a lease of 0:00:00 is not possible"),
        ({"max_attempts": 0}, "0 is not a valid number of attempts"),
        ({"group": ""}, "'' is not a valid group"),
        ({"success_topic": "a b"}, "'a b' is not a valid topic"),
    ],
)
def test_an_impossible_claim_request_is_an_error(options: dict[str, Any], told: str):
    with pytest.raises(ExchangeError, match=told):
        validation.claim_request("work", **options)


def test_a_worker_names_a_topic_at_least_and_each_once():
    assert validation.claim_request(["b", "a", "b"]).topics == ("b", "a")
    with pytest.raises(ExchangeError, match="no topic was given; give at least one"):
        validation.claim_request([])


def test_every_worker_has_a_name_of_its_own():
    assert validation.claim_request("work").instance != validation.claim_request("work").instance


def test_ids_are_short_and_sort_about_as_they_were_made():
    made = [new_id() for _ in range(1000)]

    assert len(set(made)) == 1000
    assert {len(each) for each in made} == {20}
    assert [each[:9] for each in made] == sorted(each[:9] for each in made)
