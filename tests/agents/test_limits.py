"""What a running program prints about a limit of the model's server, as it was recorded, and when that ends the run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import available_timezones

import pytest

from prloom.agents import limits, registry
from prloom.agents.agent import LimitReport, ProgramEnding
from prloom.agents.limits import LimitDetector
from prloom.agents.programs import gemini, opencode

STDERR = Path(__file__).parents[1] / "data" / "agents" / "stderr"
AT = datetime(2026, 11, 22, 15, 45, tzinfo=UTC)
NEVER = float("inf")
TOO_MANY = "Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)"


def utc(month: int, day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, second, tzinfo=UTC)


def recorded(name: str) -> list[str]:
    return (STDERR / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def refused(name: str) -> list[LimitReport]:
    agent = registry.get(name.partition("-")[0])
    found = (agent.refusal(line, stderr=True, at=AT) for line in recorded(name))
    return [each for each in found if each is not None]


@pytest.mark.parametrize(
    ("name", "trouble", "message", "retry_at"),
    [
        ("opencode-plan", "usage_limit", "The usage limit has been reached", None),
        ("opencode-words", "usage_limit", "usage limit reached, resets at 5:45pm (UTC)", utc(11, 22, 17, 46)),
        ("opencode-info", "usage_limit", "usage limit reached, resets at 11:45pm (UTC)", utc(11, 22, 23, 46)),
        ("opencode-long", "rate_limit", "Too many requests", None),
        (
            "opencode-daily",
            "usage_limit",
            "You exceeded your current quota, please check your plan and billing details.",
            None,
        ),
        ("gemini-plan", "usage_limit", "The usage limit has been reached", utc(11, 22, 17, 47, 18)),
        ("gemini-words", "usage_limit", "usage limit reached, resets at 5:48pm (UTC)", utc(11, 22, 17, 49)),
        ("gemini-long", "rate_limit", "Too many requests", None),
        ("gemini-daily", "usage_limit", "You have exhausted your daily quota on this model.", None),
    ],
)
def test_a_limit_is_recognised_in_what_was_recorded(
    name: str, trouble: str, message: str, retry_at: datetime | None
) -> None:
    first = refused(name)[0]

    assert first == LimitReport(trouble=trouble, message=message, retry_at=retry_at)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["gemini-nokey", "amp-nologin"])
def test_other_trouble_is_no_limit(name: str) -> None:
    assert refused(name) == []


@pytest.mark.parametrize(
    ("name", "event", "trouble"),
    [
        ("codex", {"type": "error", "message": TOO_MANY}, "rate_limit"),
        ("codex", {"type": "error", "message": "You\u2019ve hit your usage limit."}, "usage_limit"),
        (
            "claude",
            {"type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit"},
            "rate_limit",
        ),
        ("opencode", {"type": "error", "error": {"data": {"message": "x", "statusCode": 429}}}, "rate_limit"),
        (
            "opencode",
            {
                "type": "error",
                "error": {"data": {"message": "x", "statusCode": 429, "responseHeaders": {"retry-after": "7200"}}},
            },
            "usage_limit",
        ),
    ],
)
def test_a_limit_is_recognised_in_the_stream(name: str, event: dict[str, object], trouble: str) -> None:
    found = registry.get(name).refusal(json.dumps(event), stderr=False, at=AT)

    assert found is not None
    assert found.trouble == trouble


SAYS = "You've hit your usage limit. 429 Too Many Requests, usage_limit_reached"


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("codex", {"type": "item.completed", "item": {"type": "agent_message", "text": SAYS}}),
        ("codex", {"type": "item.completed", "item": {"type": "error", "message": SAYS}}),
        ("codex", {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}),
        ("claude", {"type": "assistant", "message": {"content": [{"type": "text", "text": f'"api_retry" {SAYS}'}]}}),
        ("claude", {"type": "system", "subtype": "api_retry", "error_status": 500, "error": "server_error"}),
        ("opencode", {"type": "text", "part": {"text": f'"error" {SAYS}'}}),
        ("opencode", {"type": "tool_use", "part": {"state": {"status": "error", "error": SAYS}}}),
        ("gemini", {"type": "message", "role": "assistant", "content": SAYS}),
        ("amp", {"type": "assistant", "message": {"content": [{"type": "text", "text": SAYS}]}}),
        ("command", {"type": "error", "message": SAYS}),
    ],
)
def test_what_the_model_says_ends_no_run(name: str, event: dict[str, object]) -> None:
    assert registry.get(name).refusal(json.dumps(event), stderr=False, at=AT) is None


@pytest.mark.parametrize("name", list(registry.AGENTS))
def test_words_on_stderr_that_are_not_the_programs_own_end_no_run(name: str) -> None:
    assert registry.get(name).refusal(f"Error executing tool read_file: {SAYS}", stderr=True, at=AT) is None


def a_watch(name: str = "gemini") -> LimitDetector:
    return LimitDetector(registry.get(name).refusal, patience=120)


def hear(watch: LimitDetector, text: str, *, now: float, stderr: bool = True) -> None:
    watch.hear(text.encode(), stderr=stderr, now=now, at=AT)


def test_a_used_up_allowance_ends_the_run_at_once() -> None:
    watch = a_watch()

    hear(watch, "\n".join(recorded("gemini-plan")) + "\n", now=7)

    assert watch.due == 7
    assert watch.current is not None


def test_a_line_that_comes_in_pieces_is_heard_when_it_is_whole() -> None:
    watch = a_watch()
    line = recorded("gemini-plan")[2]

    hear(watch, line[:50], now=1)
    hear(watch, line[50:], now=2)
    assert watch.due == NEVER
    hear(watch, "\n", now=3)

    assert watch.due == 3


def test_a_rate_limit_gives_the_program_time_from_the_first_refusal() -> None:
    watch = a_watch()

    for now, line in enumerate(recorded("gemini-long")):
        hear(watch, f"{line}\n", now=now)

    assert watch.due == 2 + 120


@pytest.mark.parametrize(
    ("text", "stderr", "due"), [('{"type": "message"}\n', False, NEVER), ("    at async main\n\n", True, 120)]
)
def test_progress_after_a_rate_limit_lets_the_run_go_on_and_chatter_on_stderr_is_none(
    text: str, *, stderr: bool, due: float
) -> None:
    watch = a_watch()
    hear(watch, "\n".join(recorded("gemini-long")) + "\n", now=0)

    hear(watch, text, now=60, stderr=stderr)

    assert (watch.due, watch.current is None) == (due, due == NEVER)


def test_an_allowance_that_is_there_again_soon_is_left_to_the_program() -> None:
    watch = a_watch()
    error = json.dumps({"error": {"message": "You exceeded your current quota. Please retry in 35.2s."}})

    hear(watch, f"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {error}\n", now=0)

    assert watch.due == 120
    assert watch.current is not None
    assert watch.current.retry_at == AT + timedelta(seconds=35.2)


def test_a_line_without_an_end_takes_no_memory_and_hides_no_later_one() -> None:
    watch = a_watch()

    for _ in range(100):
        hear(watch, "x" * 65536, now=0)
    hear(watch, f"\n{recorded('gemini-plan')[2]}\n", now=1)

    assert watch.due == 1


def an_ending(name: str, code: int, ended_by: str = "exit") -> ProgramEnding:
    return ProgramEnding(code=code, ended_by=ended_by, at=AT, stderr="\n".join(recorded(name)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("gemini-nokey", 41, "you must specify the GEMINI_API_KEY environment variable"), ("amp-nologin", 1, "")],
)
def test_a_program_without_an_account_is_not_signed_in(name: str, code: int, said: str) -> None:
    result = registry.get(name.partition("-")[0]).read("", an_ending(name, code))

    assert (result.status, result.trouble) == ("unusable", "auth")
    assert said in (result.error or "")


def test_gemini_that_gave_up_after_its_number_of_turns_says_so() -> None:
    result = gemini.read("", ProgramEnding(code=53, ended_by="exit", at=AT, stderr="Reached max session turns\n"))

    assert (result.trouble, result.error) == ("turns", "Reached max session turns")


@pytest.mark.parametrize(("name", "trouble"), [("gemini-long", "rate_limit"), ("opencode-long", "rate_limit")])
@pytest.mark.parametrize("ended_by", ["silence", "timeout"])
def test_a_refused_call_is_what_a_run_that_came_to_nothing_is_about(name: str, trouble: str, ended_by: str) -> None:
    result = registry.get(name.partition("-")[0]).read("", an_ending(name, -15, ended_by))

    assert (result.status, result.trouble) == ("failed", trouble)


def test_a_server_that_fails_is_named_by_the_log_of_opencode() -> None:
    line = recorded("opencode-long")[0].replace("Too many requests", "Internal trouble of the model")

    result = opencode.read("", ProgramEnding(code=-15, ended_by="silence", at=AT, stderr=line))

    assert (result.trouble, "Internal trouble of the model" in (result.error or "")) == ("server", True)


EAST = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 21, 14, 30, 20, tzinfo=EAST)  # 12:30:20 UTC


@pytest.mark.parametrize(
    ("message", "reset"),
    [
        # codex; the seconds are cut off, so the limit ends with the minute.
        ("You've hit your usage limit. Try again at 3:04 PM.", utc(11, 21, 13, 5)),
        ("Visit https://x.y/z to purchase more credits or try again at 12:16 AM.", utc(11, 21, 22, 17)),
        ("You've hit your usage limit. Try again at 2:30 PM.", utc(11, 21, 12, 31)),
        ("You've hit your usage limit. Try again at 2:20 PM.", utc(11, 22, 12, 21)),
        # It has just ended, while the message was on its way: to wait until tomorrow would be wrong.
        ("You've hit your usage limit. Try again at 2:29 PM.", utc(11, 21, 12, 31, 20)),
        ("You've hit your usage limit. Try again at 2:26 PM.", utc(11, 21, 12, 31, 20)),
        ("You have hit your usage limit. Try again at Nov 23rd, 2026 4:15 AM.", utc(11, 23, 2, 16)),
        ("try again in 2 days 17 hours 14 minutes.", utc(11, 24, 5, 44, 20)),
        # claude
        ("Claude AI usage limit reached|1795270000", datetime.fromtimestamp(1795270000, tz=UTC)),
        ("You've hit your weekly limit · resets Nov 25 at 9am", utc(11, 25, 7, 1)),
        ("You've hit your session limit · resets 3pm (Nowhere/Land)", utc(11, 21, 13, 1)),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", utc(12, 1, 0)),
        ("You've reached your limit; resets at 2026-11-23T01:02:03Z", utc(11, 23, 1, 2, 3)),
        # opencode
        ("5 hour usage limit reached. It will reset in 3 hours 5 minutes.", utc(11, 21, 15, 35, 20)),
        ("Weekly usage limit reached. Resets in 2 days.", utc(11, 23, 12, 30, 20)),
        # gemini
        ("You have exhausted your capacity. Your quota will reset after 3h20m5s.", utc(11, 21, 15, 50, 25)),
    ],
)
def test_the_programs_words_name_a_time(message: str, reset: datetime) -> None:
    assert limits.reset_time(message, NOW) == reset


@pytest.mark.skipif(not available_timezones(), reason="this machine knows no time zones by name (no tzdata)")
@pytest.mark.parametrize(
    ("message", "reset"),
    [
        ("You've hit your session limit · resets 3pm (UTC)", utc(11, 21, 15, 1)),
        ("You've hit your weekly limit · resets Nov 25, 3:30pm (America/New_York)", utc(11, 25, 20, 31)),
    ],
)
def test_a_clock_time_may_name_its_zone(message: str, reset: datetime) -> None:
    assert limits.reset_time(message, NOW) == reset


@pytest.mark.parametrize(
    "message",
    [
        "",
        "You've hit your usage limit. Try again later.",
        "You've hit your usage limit. Try again at 77:99 PM.",
        "try again at Foo 3rd, 2026 4:15 AM.",
        "try again at Feb 31st, 2027 4:15 AM.",
        "Claude AI usage limit reached|9999999999",
        "try again at Nov 23rd, 2031 4:15 AM.",
        "try again in 9999 days",
        "try again in 2 a 3 b 4 c",
        "You will regain access on 2026-13-41 at 77:99 UTC.",
        "You will regain access on 2025-01-01 at 00:00 UTC.",
    ],
)
def test_words_without_a_sensible_time_name_none(message: str) -> None:
    assert limits.reset_time(message, NOW) is None


def test_a_date_without_a_year_may_lie_in_the_next_one() -> None:
    december = datetime(2026, 12, 30, 12, tzinfo=UTC)

    assert limits.reset_time("resets Jan 2, 3pm", december) == datetime(2027, 1, 2, 15, 1, tzinfo=UTC)


def test_a_stamp_may_be_in_seconds_or_milliseconds() -> None:
    stamp = utc(11, 21, 18).timestamp()

    assert limits.from_epoch(stamp, NOW) == limits.from_epoch(stamp * 1000, NOW) == utc(11, 21, 18)


@pytest.mark.parametrize("stamp", [0, -1, 1e300, 5e10])
def test_a_stamp_that_makes_no_sense_is_no_time(stamp: float) -> None:
    assert limits.from_epoch(stamp, NOW) is None


def test_a_hostile_message_takes_no_time() -> None:
    hostile = "resets " * 50_000 + "try again at " + "1 " * 100_000 + "try again in" + "1 " * 100_000

    assert limits.reset_time(hostile, NOW) is None
