"""The one place that calls a run a success."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from prloom.agents import parsing
from prloom.agents.agent import LimitReport, ProgramEnding
from prloom.agents.parsing import ParsedOutput

GOOD = ParsedOutput(message="Done.", closed=True)


def test_success_needs_everything(ending: Callable[..., ProgramEnding]) -> None:
    assert parsing.conclude(GOOD, ending()).status == "ok"


@pytest.mark.parametrize(
    ("reading", "trouble"),
    [
        (replace(GOOD, message=" \n"), "empty"),
        (replace(GOOD, closed=False), "no_result"),
        (replace(GOOD, error="API Error: 500"), "server"),
        (replace(GOOD, error="something", trouble="turns"), "turns"),
    ],
)
def test_exit_code_0_alone_is_no_success(
    reading: ParsedOutput, trouble: str, ending: Callable[..., ProgramEnding]
) -> None:
    result = parsing.conclude(reading, ending())

    assert (result.status, result.trouble) == ("failed", trouble)


def test_a_good_stream_with_a_bad_exit_code_is_no_success(ending: Callable[..., ProgramEnding]) -> None:
    assert parsing.conclude(GOOD, ending(1)).status == "failed"


def test_what_the_program_complained_of_explains_a_limit(ending: Callable[..., ProgramEnding]) -> None:
    retrying = ParsedOutput(error="the model refused (401)", trouble="auth")

    result = parsing.conclude(retrying, ending(-15, "silence"))

    assert result.trouble == "auth"
    assert (
        result.error == "the run printed nothing for longer than the limit; its last message: the model refused (401)"
    )


def test_a_usage_limit_with_a_known_end_is_a_wait(ending: Callable[..., ProgramEnding]) -> None:
    reset = datetime(2026, 11, 21, 12, tzinfo=UTC)

    result = parsing.conclude(ParsedOutput(error="limit", trouble="usage_limit", retry_at=reset), ending(1))

    assert (result.status, result.retry_at) == ("limited", reset)


def test_a_usage_limit_whose_end_nobody_knows_is_a_wait_as_well(ending: Callable[..., ProgramEnding]) -> None:
    result = parsing.conclude(ParsedOutput(error="You've hit your usage limit. Try again later."), ending(1))

    assert (result.status, result.trouble, result.retry_at) == ("limited", "usage_limit", None)


REFUSED = LimitReport(trouble="usage_limit", message="It is used up.", retry_at=datetime(2026, 11, 21, 12, tzinfo=UTC))


@pytest.mark.parametrize("ended_by", ["limit", "silence", "timeout"])
def test_a_run_that_a_usage_limit_kept_from_going_on_is_a_wait(
    ended_by: str, ending: Callable[..., ProgramEnding]
) -> None:
    end = msgspec.structs.replace(ending(-15, ended_by), refusal=REFUSED)

    result = parsing.conclude(ParsedOutput(message="I look"), end)

    assert (result.status, result.trouble, result.retry_at) == ("limited", "usage_limit", REFUSED.retry_at)
    assert result.error == "the usage limit is reached: It is used up."


def test_a_run_that_a_rate_limit_kept_from_going_on_is_a_wait_whose_end_nobody_knows(
    ending: Callable[..., ProgramEnding],
) -> None:
    refused = LimitReport(trouble="rate_limit", message="Too many requests")

    result = parsing.conclude(ParsedOutput(), msgspec.structs.replace(ending(-15, "limit"), refusal=refused))

    assert (result.status, result.trouble, result.retry_at) == ("limited", "usage_limit", None)
    assert result.error == "the model's server refused every request for a while: Too many requests"


def test_a_run_that_ends_well_after_a_refusal_is_a_success(ending: Callable[..., ProgramEnding]) -> None:
    end = msgspec.structs.replace(ending(), refusal=REFUSED)

    assert parsing.conclude(ParsedOutput(message="Done.", closed=True), end).status == "ok"


def test_a_run_that_ends_without_a_word_after_a_refusal_is_a_wait(ending: Callable[..., ProgramEnding]) -> None:
    end = msgspec.structs.replace(ending(), refusal=REFUSED)

    assert parsing.conclude(ParsedOutput(), end).status == "limited"


def test_a_reset_time_without_a_usage_limit_is_no_wait(ending: Callable[..., ProgramEnding]) -> None:
    reading = ParsedOutput(error="API Error: 500, try again at 11:30 PM.", trouble="server")

    assert parsing.conclude(reading, ending(1)).status == "failed"


def test_a_reset_named_on_stderr_alone_is_found(ending: Callable[..., ProgramEnding]) -> None:
    result = parsing.conclude(ParsedOutput(), ending(1, stderr="Your quota will reset after 2h.\n"))

    assert (result.status, result.retry_at) == ("limited", datetime(2026, 11, 21, 10, tzinfo=UTC))


@pytest.mark.parametrize("code", [-15, 0, 1])
def test_prlooms_own_stop_wins_over_everything(code: int, ending: Callable[..., ProgramEnding]) -> None:
    reading = replace(GOOD, error="You've hit your usage limit", trouble="usage_limit")

    assert parsing.conclude(reading, ending(code, "terminated")).status == "interrupted"


@pytest.mark.parametrize(("code", "signal"), [(-11, 11), (137, 9), (143, 15)])
def test_an_exit_by_signal_is_named(code: int, signal: int, ending: Callable[..., ProgramEnding]) -> None:
    assert f"signal {signal}" in (parsing.conclude(ParsedOutput(), ending(code)).error or "")


def test_an_exit_code_above_128_may_be_just_that(ending: Callable[..., ProgramEnding]) -> None:
    assert parsing.conclude(ParsedOutput(), ending(145)).error == "the program ended with exit code 145"


def test_a_long_complaint_is_shortened(ending: Callable[..., ProgramEnding]) -> None:
    assert len(parsing.conclude(ParsedOutput(error="x" * 10_000), ending(1)).error or "") < 600


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


def test_a_number_that_is_too_large_to_be_an_amount_is_none() -> None:
    event: parsing.Json = {"huge": 10**400, "infinite": float("inf")}

    assert [parsing.amount(event, key) for key in event] == [None, None]


def test_only_the_objects_of_a_list_count() -> None:
    assert parsing.objects({"list": [1, {"a": 1}, None, "b"]}, "list") == ({"a": 1},)
    assert parsing.objects({"list": {"a": 1}}, "list") == ()
