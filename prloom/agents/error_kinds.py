"""Name the trouble that a program reports, from an HTTP status or from its words."""

from __future__ import annotations

import re
from datetime import datetime
from http import HTTPStatus

from prloom.agents import limits
from prloom.agents.agent import ErrorKind, LimitReport

# The words of the programs of 2026, each seen in a recorded run, the program's source or its users' reports. The first
# match wins.
# A status comes before words, because a server's own message may say anything.
_WORDS: tuple[tuple[ErrorKind, str], ...] = (
    (
        "session",
        r"^no conversation found with session id|no rollout found for thread id|error: (?:\x1b\[0m)?session not found$",
    ),
    ("usage_limit", r"usage limit|session limit|weekly limit|monthly limit|hit your limit|quota will reset"),
    ("usage_limit", r"usage_limit|quota exceeded|exhausted your (?:capacity|daily quota)|spend limit"),
    ("usage_limit", r"exceeded your current quota|insufficient_quota|insufficient (?:credits|balance)"),
    ("usage_limit", r"(?:hit|reached) your (?:(?!rate\b|context\b|length\b)[\w.-]+ ){0,4}limit|\b5-hour limit"),
    ("usage_limit", r"spending limit|spend cap|usage exceeded|out of (?:extra usage|credits)"),
    ("auth", r"\b401\b|\b403\b|unauthori[sz]ed|authenticat|invalid api key|not logged in|please (?:run )?.{0,9}login"),
    ("auth", r"invalid auth method|api key not (?:valid|found)|credit balance|no api key|login failed"),
    ("auth", r"missing environment variable"),
    ("rate_limit", r"\b429\b|rate.?limit|too many requests|resource_exhausted|resource has been exhausted"),
    ("server", r"\b5[0-9][0-9]\b|overloaded|high demand|internal server error|at capacity|api_error|server_error"),
    ("connection", r"connection|disconnected|stream closed|timed out|network|unreachable|econn|fetch failed"),
    ("turns", r"maximum number of turns|max(?:imum)? session turns|max_turns"),
)
_COMPILED = tuple((trouble, re.compile(pattern, re.IGNORECASE)) for trouble, pattern in _WORDS)

_SAID = re.compile(r'message\\*":\s*\\*"([^"\\]{1,500})')

_READ = 2000
"""Characters looked at: a program's complaint stands at the beginning, and what follows may be anybody's text."""


def of_status(status: int | None) -> ErrorKind | None:
    """Return the trouble that an HTTP status stands for, or None for a status that is none."""
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return "auth"
        case HTTPStatus.TOO_MANY_REQUESTS:
            return "rate_limit"
        case int() if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "server"
        case int() if status >= HTTPStatus.BAD_REQUEST:
            return "error"
        case _:
            return None


def refusal(said: str, at: datetime, *, status: int | None = None) -> LimitReport | None:
    """Return the limit that a program's own words about an error tell of; None where they are about something else."""
    message = _message(said)
    match of_text(said):
        case "usage_limit":
            return LimitReport(trouble="usage_limit", message=message, retry_at=limits.reset_time(said, at))
        case "rate_limit":
            return LimitReport(trouble="rate_limit", message=message, retry_at=limits.reset_time(said, at))
        case _ if status == HTTPStatus.TOO_MANY_REQUESTS:
            return LimitReport(trouble="rate_limit", message=message, retry_at=limits.reset_time(said, at))
        case _:
            return None


def _message(said: str) -> str:
    """Return what the error says for people, where the words are the JSON that the server sent."""
    found = _SAID.search(said[:_READ])
    if found:
        return found[1]
    return said[:_READ].strip()


def of_text(message: str) -> ErrorKind:
    """Return the trouble that a program's message is about; `error` when its words say nothing known."""
    beginning = message[:_READ]
    return next((trouble for trouble, pattern in _COMPILED if pattern.search(beginning)), "error")
