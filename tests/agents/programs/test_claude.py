"""Claude Code: its command line, and what no recording shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prloom.agents import mcp_server
from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import claude

Ask = Callable[..., RunRequest]

RESET = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LIMIT = {
    "type": "rate_limit_event",
    "rate_limit_info": {"status": "rejected", "resetsAt": int(RESET.timestamp()), "rateLimitType": "five_hour"},
}


def a_result(**more: object) -> dict[str, object]:
    fields = {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "result": "Done."}
    return fields | {"modelUsage": {"m": {"inputTokens": 1, "outputTokens": 2}}, "total_cost_usd": 0.5} | more


def lines(*events: dict[str, object]) -> str:
    return "\n".join(json.dumps(event) for event in events)


def test_a_read_only_run_has_only_tools_that_read(ask: Ask) -> None:
    argv = claude.invocation(ask(rights="read")).argv

    assert argv[argv.index("--tools") + 1] == "Read,Grep,Glob"
    assert argv[argv.index("--permission-mode") + 1] == "dontAsk"


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_run_comes_upon_prlooms_own_files(ask: Ask, rights: str) -> None:
    argv = claude.invocation(ask(rights=rights)).argv

    assert argv[argv.index("--disallowedTools") + 1] == "Read(./prloom/.local/**),Edit(./prloom/.local/**)"


@pytest.mark.parametrize("rights", ["read", "work"])
def test_a_worktrees_settings_and_servers_are_not_obeyed(ask: Ask, rights: str) -> None:
    argv = claude.invocation(ask(rights=rights)).argv

    assert argv[argv.index("--setting-sources") + 1] == "user"
    assert "--strict-mcp-config" in argv


def test_a_worker_may_edit_and_run_programs_and_nothing_is_a_question(ask: Ask) -> None:
    argv = claude.invocation(ask(model="opus")).argv

    tools = "Read,Grep,Glob,Edit,Write,Bash"
    assert argv[argv.index("--tools") + 1] == argv[argv.index("--allowedTools") + 1] == tools
    assert argv[argv.index("--permission-mode") + 1] == "dontAsk"
    assert argv[-2:] == ("--model", "opus")


def test_side_traffic_is_switched_off(ask: Ask) -> None:
    env = claude.invocation(ask()).env

    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == env["DISABLE_AUTOUPDATER"] == "1"


def test_it_waits_for_prlooms_server_as_long_as_that_may_take_to_start(ask: Ask, tmp_path: Path) -> None:
    server = mcp_server.of_run(tmp_path, tmp_path, timedelta(minutes=1))

    env = claude.invocation(ask(server=server)).env

    assert env["MCP_CONNECTION_NONBLOCKING"] == "0"
    assert {env["MCP_TIMEOUT"], env["MCP_CONNECT_TIMEOUT_MS"]} == {str(mcp_server.START_LIMIT_MS)}


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_a_run_that_began_without_prlooms_tools_has_failed(status: str, ending: Callable[..., ProgramEnding]) -> None:
    init = {"type": "system", "subtype": "init", "mcp_servers": [{"name": "prloom", "status": status}]}
    others = {**init, "mcp_servers": [{"name": "own", "status": status}, {"name": "prloom", "status": "connected"}]}

    result = claude.read(lines(init, a_result()), ending())

    assert (result.status, result.trouble) == ("failed", "error")
    assert result.error == (
        f"the agent began without prloom's tools, because their server was not connected ({status})"
    )
    assert claude.read(lines(others, a_result()), ending()).status == "ok"


def test_a_used_up_allowance_is_a_wait_until_its_reset(ending: Callable[..., ProgramEnding]) -> None:
    said = "You've hit your session limit"
    refused = a_result(is_error=True, api_error_status=429, result=said, stop_reason="stop_sequence")

    result = claude.read(lines(LIMIT, refused), ending(1))

    assert (result.status, result.trouble, result.retry_at, result.error) == ("limited", "usage_limit", RESET, said)


def test_a_used_up_allowance_is_known_even_when_the_program_never_closed(ending: Callable[..., ProgramEnding]) -> None:
    result = claude.read(lines(LIMIT), ending(-15, "timeout"))

    assert (result.status, result.retry_at) == ("limited", RESET)


def test_the_words_of_the_result_may_name_the_reset(ending: Callable[..., ProgramEnding]) -> None:
    said = f"Claude AI usage limit reached|{int(RESET.timestamp())}"

    result = claude.read(lines(a_result(is_error=True, result=said)), ending(1))

    assert (result.status, result.retry_at) == ("limited", RESET)


def test_a_run_that_went_on_beyond_its_allowance_is_a_success(ending: Callable[..., ProgramEnding]) -> None:
    assert claude.read(lines(LIMIT, a_result()), ending()).status == "ok"


def test_a_warning_about_the_allowance_is_no_limit(ending: Callable[..., ProgramEnding]) -> None:
    warning = LIMIT | {"rate_limit_info": {"status": "allowed_warning", "resetsAt": int(RESET.timestamp())}}

    result = claude.read(lines(warning, a_result(is_error=True, result="API Error: 500")), ending(1))

    assert (result.status, result.trouble) == ("failed", "server")


def test_usage_is_summed_over_all_models(ending: Callable[..., ProgramEnding]) -> None:
    models = {
        "big": {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 1},
        "small": {"inputTokens": 2, "outputTokens": 1},
    }

    usage = claude.read(lines(a_result(modelUsage=models)), ending()).usage

    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (113, 6, 100)


def test_the_type_need_not_be_the_first_key(ending: Callable[..., ProgramEnding]) -> None:
    turned = dict(reversed(a_result().items()))

    assert claude.read(lines(turned), ending()).message == "Done."


def test_trouble_that_was_overcome_does_not_explain_a_later_limit(ending: Callable[..., ProgramEnding]) -> None:
    retry: dict[str, object] = {"type": "system", "subtype": "api_retry", "error_status": 500, "error": "server_error"}
    answer: dict[str, object] = {"type": "assistant", "message": {"model": "m", "content": []}}

    assert claude.read(lines(retry), ending(-15, "timeout")).trouble == "server"
    assert claude.read(lines(retry, answer), ending(-15, "timeout")).trouble == "timeout"


def test_a_used_up_allowance_is_no_limit_while_extra_usage_is_paid_for(ending: Callable[..., ProgramEnding]) -> None:
    info = {"status": "rejected", "resetsAt": 1795270000, "rateLimitType": "five_hour", "isUsingOverage": True}
    event: dict[str, object] = {"type": "rate_limit_event", "rate_limit_info": info}

    result = claude.read(lines(event, a_result(is_error=True, result="API Error: 500")), ending(1))

    assert (result.status, result.trouble, result.retry_at) == ("failed", "server", None)


def test_a_limit_of_one_model_is_a_usage_limit_also_without_an_event(ending: Callable[..., ProgramEnding]) -> None:
    said = "You've hit your Opus limit · resets Nov 25 at 9am"

    result = claude.read(lines(a_result(is_error=True, api_error_status=429, result=said)), ending(1))

    assert (result.status, result.trouble) == ("limited", "usage_limit")
    assert result.retry_at is not None
