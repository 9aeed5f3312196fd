"""The names of trouble."""

from __future__ import annotations

import pytest

from prloom.agents import error_kinds


@pytest.mark.parametrize(
    ("status", "trouble"),
    [(401, "auth"), (403, "auth"), (429, "rate_limit"), (500, "server"), (529, "server"), (404, "error")],
)
def test_a_status_names_its_trouble(status: int, trouble: str) -> None:
    assert error_kinds.of_status(status) == trouble


@pytest.mark.parametrize("status", [None, 0, 200])
def test_no_status_is_no_trouble(status: int | None) -> None:
    assert error_kinds.of_status(status) is None


@pytest.mark.parametrize(
    ("message", "trouble"),
    [
        ("You've hit your usage limit. Try again later. (429)", "usage_limit"),
        ("You have exhausted your capacity on this model.", "usage_limit"),
        ("You've hit your Opus limit · resets 3pm (UTC)", "usage_limit"),
        ("You've reached your weekly Opus limit", "usage_limit"),
        ("5-hour limit reached ∙ resets 6pm", "usage_limit"),
        ("You're out of extra usage · resets 3pm (UTC)", "usage_limit"),
        ("Your workspace is out of credits. Add credits to continue.", "usage_limit"),
        ("Insufficient credits. Add more using your account's settings.", "usage_limit"),
        ("Insufficient Balance", "usage_limit"),
        ("Free usage exceeded, add credits", "usage_limit"),
        ("Your workspace has reached its monthly spending limit", "usage_limit"),
        ("Resource has been exhausted (e.g. check quota).", "rate_limit"),
        ("The prompt has hit your context length limit", "error"),
        ("You have reached your rate limit", "rate_limit"),
        ("unexpected status 401 Unauthorized: we had a connection", "auth"),
        ("Invalid auth method selected.", "auth"),
        ("Not logged in · Please run /login", "auth"),
        ("Credit balance is too low", "auth"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        ("unexpected status 503 Service Unavailable: connection", "server"),
        ("We're currently experiencing high demand", "server"),
        ("stream disconnected before completion", "connection"),
        ("Reached maximum number of turns (1)", "turns"),
        ("listening on 127.0.0.1:50042", "error"),
        ("", "error"),
    ],
)
def test_words_name_their_trouble(message: str, trouble: str) -> None:
    assert error_kinds.of_text(message) == trouble


def test_only_the_beginning_of_a_message_counts() -> None:
    assert error_kinds.of_text("x" * 3000 + " 401") == "error"
