"""opencode: its command line, and what no recording shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import opencode


def lines(*events: dict[str, object]) -> str:
    return "\n".join(json.dumps(event) for event in events)


def a_step(reason: str, **more: object) -> tuple[dict[str, object], ...]:
    finish = {"type": "step-finish", "reason": reason, "tokens": {"input": 5, "output": 2}} | more
    text = {"type": "text", "part": {"messageID": "m1", "text": "Done."}}
    return ({"type": "step_start", "part": {}}, text, {"type": "step_finish", "part": finish})


def an_error(**about: object) -> dict[str, object]:
    return {"type": "error", "error": {"name": "APIError", "data": about}}


def test_a_read_only_run_is_an_agent_that_may_only_read(ask: Callable[..., RunRequest]) -> None:
    invocation = opencode.invocation(ask(rights="read"))

    agent = invocation.argv[invocation.argv.index("--agent") + 1]
    permission = json.loads(invocation.env["OPENCODE_CONFIG_CONTENT"])["agent"][agent]["permission"]
    assert permission.pop("*") == "deny"
    assert sorted(permission) == ["glob", "grep", "list", "read"]
    assert permission["read"] == {"*": "allow", "prloom/.local/*": "deny", "*/prloom/.local/*": "deny"}


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_small_model_is_asked_for_a_title(ask: Callable[..., RunRequest], rights: str) -> None:
    argv = opencode.invocation(ask(rights=rights)).argv

    assert argv[argv.index("--title") + 1] == "prloom triage"


def test_a_worker_is_an_agent_that_may_edit_and_run_programs_and_nothing_is_a_question(
    ask: Callable[..., RunRequest],
) -> None:
    invocation = opencode.invocation(ask(rights="work"))

    agent = invocation.argv[invocation.argv.index("--agent") + 1]
    permission = json.loads(invocation.env["OPENCODE_CONFIG_CONTENT"])["agent"][agent]["permission"]
    assert permission.pop("*") == "deny"
    assert sorted(permission) == ["bash", "edit", "glob", "grep", "list", "read"]
    assert permission["bash"] == "allow"
    assert permission["edit"] == {"*": "allow", "prloom/.local/*": "deny", "*/prloom/.local/*": "deny"}
    assert "ask" not in json.dumps(permission)


@pytest.mark.parametrize("rights", ["read", "work"])
def test_a_worktrees_settings_and_plugins_are_not_obeyed(ask: Callable[..., RunRequest], rights: str) -> None:
    assert opencode.invocation(ask(rights=rights)).env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


@pytest.mark.parametrize("reason", ["tool-calls", "unknown", "length", "error"])
def test_a_last_step_that_broke_off_is_no_end(reason: str, ending: Callable[..., ProgramEnding]) -> None:
    assert opencode.read(lines(*a_step(reason)), ending()).trouble == "no_result"


def test_a_step_that_never_finished_leaves_the_usage_unknown(ending: Callable[..., ProgramEnding]) -> None:
    result = opencode.read(lines(*a_step("tool-calls"), {"type": "step_start", "part": {}}), ending(-9))

    assert result.usage is None


def test_costs_of_steps_are_summed(ending: Callable[..., ProgramEnding]) -> None:
    output = lines(*a_step("tool-calls", cost=0.25), *a_step("stop", cost=0.5))

    assert opencode.read(output, ending()).cost_usd == 0.75


def test_the_message_is_that_of_the_last_answer(ending: Callable[..., ProgramEnding]) -> None:
    texts = [
        {"type": "text", "part": {"messageID": m, "text": t}} for m, t in (("1", "I will"), ("2", "a"), ("2", "b"))
    ]

    assert opencode.read(lines(*texts), ending()).message == "ab"


def test_an_error_that_was_overcome_is_no_failure(ending: Callable[..., ProgramEnding]) -> None:
    output = lines(an_error(message="overloaded", statusCode=529), *a_step("stop"))

    assert opencode.read(output, ending()).status == "ok"


def test_a_long_retry_after_is_a_used_up_allowance(ending: Callable[..., ProgramEnding]) -> None:
    output = lines(an_error(message="slow down", statusCode=429, responseHeaders={"retry-after": "7200"}))

    result = opencode.read(output, ending(1))

    assert (result.status, result.retry_at) == ("limited", datetime(2026, 11, 21, 10, tzinfo=UTC))


@pytest.mark.parametrize("after", ["59", "-7200", "Sat, 21 Nov 2026 10:00:00 GMT", "²", "9" * 5000, "99999999"])
def test_a_retry_after_that_is_short_or_senseless_is_a_rate_limit(
    after: str, ending: Callable[..., ProgramEnding]
) -> None:
    output = lines(an_error(message="slow down", statusCode=429, responseHeaders={"retry-after": after}))

    result = opencode.read(output, ending(1))

    assert (result.status, result.trouble) == ("failed", "rate_limit")


def test_the_servers_own_words_may_tell_of_the_allowance(ending: Callable[..., ProgramEnding]) -> None:
    body = '{"error": {"type": "usage_limit_reached"}}'

    result = opencode.read(lines(an_error(message="refused", statusCode=429, responseBody=body)), ending(1))

    assert (result.status, result.trouble) == ("limited", "usage_limit")


def test_a_step_begun_after_the_last_stop_is_no_end(ending: Callable[..., ProgramEnding]) -> None:
    assert opencode.read(lines(*a_step("stop"), {"type": "step_start", "part": {}}), ending()).trouble == "no_result"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "You have reached your specified API usage limits. You will regain access on 2999-01-01 at 00:00 UTC."),
        (402, "Insufficient credits. Add more using your account's settings."),
        (403, "Your organization has reached its monthly usage limit"),
    ],
)
def test_a_used_up_allowance_is_known_by_its_words_whatever_the_status(
    status: int, message: str, ending: Callable[..., ProgramEnding]
) -> None:
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": message, "statusCode": status}}}

    result = opencode.read(json.dumps(error), ending(code=1))

    assert (result.status, result.trouble) == ("limited", "usage_limit")


def test_the_operators_own_mcp_servers_are_switched_off_by_name(ask: Callable[..., RunRequest]) -> None:
    environ = {"HOME": "/home/ann", "OPENCODE_CONFIG": "/etc/mine.json"}
    texts = ('{"mcp": {"slow": {"type": "local"}}}', '{// mine\n "mcp": {"other one": {"enabled": true},}}', "{broken")
    settings = dict(zip(opencode.settings_files(environ)[::3], texts, strict=True))

    off, on = (
        json.loads(opencode.invocation(ask(settings=settings, inherit=inherit)).env["OPENCODE_CONFIG_CONTENT"])
        for inherit in ((), ("mcp",))
    )

    assert off["mcp"] == {"slow": {"enabled": False}, "other one": {"enabled": False}}
    assert on["mcp"] == {}
    permission = on["agent"]["prloom-worker"]["permission"]
    assert (permission["slow_*"], permission["other_one_*"]) == ("allow", "allow")
