"""Gemini CLI: its command line, and what no recording shows."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import gemini

Ask = Callable[..., RunRequest]


def lines(*events: dict[str, object]) -> str:
    return "\n".join(json.dumps(event) for event in events)


def test_a_read_only_run_is_held_by_a_policy_that_comes_with_prloom(ask: Ask) -> None:
    argv = gemini.invocation(ask(rights="read")).argv

    rules = tomllib.loads(Path(argv[argv.index("--admin-policy") + 1]).read_text(encoding="utf-8"))["rule"]
    assert [(rule["toolName"], rule["decision"]) for rule in rules if rule["decision"] == "deny"] == [("*", "deny")]
    (allowed,) = (rule["toolName"] for rule in rules if rule["decision"] == "allow" and "mcpName" not in rule)
    assert not {"write_file", "replace", "run_shell_command", "web_fetch", "exit_plan_mode"} & set(allowed)


def test_a_read_only_run_starts_outside_and_is_not_given_the_worktree_whose_orders_it_would_take(ask: Ask) -> None:
    request = ask(rights="read")

    invocation = gemini.invocation(request)

    assert invocation.outside
    assert not [each for each in invocation.argv if str(request.cwd) in each]


def test_a_worker_works_in_its_worktree(ask: Ask) -> None:
    invocation = gemini.invocation(ask(model="pro"))

    assert not invocation.outside
    assert invocation.argv[-2:] == ("-m", "pro")


def test_a_worker_may_edit_and_run_programs_by_a_policy_that_comes_with_prloom(ask: Ask) -> None:
    argv = gemini.invocation(ask(rights="work")).argv

    assert argv[argv.index("--approval-mode") + 1] == "default"
    rules = tomllib.loads(Path(argv[argv.index("--admin-policy") + 1]).read_text(encoding="utf-8"))["rule"]
    everything, allowed, server, own = sorted(rules, key=lambda rule: rule["priority"])
    assert (server["mcpName"], server["toolName"], server["decision"]) == ("prloom", "*", "allow")
    assert (everything["toolName"], everything["decision"]) == ("*", "deny")
    assert {"write_file", "replace", "run_shell_command", "read_file"} <= set(allowed["toolName"])
    assert not {"web_fetch", "google_web_search", "invoke_agent", "exit_plan_mode"} & set(allowed["toolName"])
    assert own["decision"] == "deny"
    tree = "/repository/prloom/.local/worktrees/pr-7"  # where worktrees are by default
    for file in ("/tree/prloom/.local/state.json", f"{tree}/prloom/.local/bus", "prloom/.local", "prloom/.local/x"):
        assert re.search(own["argsPattern"], json.dumps({"file_path": file}))
    for file in ("/tree/prloom/local.py", f"{tree}/app.py", "app.py"):
        assert not re.search(own["argsPattern"], json.dumps({"file_path": file}))


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_run_starts_an_mcp_server_or_an_extension_of_the_operators(ask: Ask, rights: str) -> None:
    argv = gemini.invocation(ask(rights=rights)).argv

    assert argv[argv.index("--allowed-mcp-server-names") + 1] == "prloom-allows-none"
    assert argv[argv.index("--extensions") + 1] == "none"


SETTINGS = Path("/home/op/.gemini/settings.json")


@pytest.mark.parametrize(
    ("model", "environ", "settings", "used"),
    [
        (None, {}, "", "flash"),
        ("pro", {"GEMINI_MODEL": "mine"}, '{"model": {"name": "set"}}', "pro"),
        (None, {"GEMINI_MODEL": "mine"}, '{"model": {"name": "set"}}', "mine"),
        (None, {}, '{"model": {"name": "set"}}', "set"),
        (None, {}, '{"model": "set"}', "set"),
        (None, {}, '{"model": {"name": "auto"}}', "flash"),
        (None, {"GEMINI_MODEL": "auto-gemini-3"}, "", "flash"),
        (None, {}, "not JSON", "flash"),
        (None, {}, "[]", "flash"),
    ],
)
def test_no_small_model_is_asked_which_model_to_use(
    model: str | None, environ: dict[str, str], settings: str, used: str, ask: Ask
) -> None:
    environ = {"HOME": "/home/op"} | environ

    argv = gemini.invocation(ask(model=model, environ=environ, settings={SETTINGS: settings})).argv

    assert gemini.settings_files(environ) == (SETTINGS,)
    assert argv[argv.index("-m") + 1] == used


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_folder_counts_as_trusted(ask: Ask, rights: str) -> None:
    invocation = gemini.invocation(ask(rights=rights))

    trusted = Path(invocation.env["GEMINI_CLI_TRUSTED_FOLDERS_PATH"])
    assert json.loads(trusted.read_text(encoding="utf-8")) == {}
    assert "--skip-trust" in invocation.argv


def test_a_used_up_quota_is_a_wait_until_its_reset(ending: Callable[..., ProgramEnding]) -> None:
    error = {"type": "unknown", "message": "You have exhausted your capacity. Your quota will reset after 1h0m0s."}

    result = gemini.read(lines({"type": "result", "status": "error", "error": error}), ending(1))

    assert (result.status, result.retry_at) == ("limited", datetime(2026, 11, 21, 9, tzinfo=UTC))


def test_what_was_said_between_tools_is_not_the_answer(ending: Callable[..., ProgramEnding]) -> None:
    def said(text: str) -> dict[str, object]:
        return {"type": "message", "role": "assistant", "content": text, "delta": True}

    output = lines(said("I will"), {"type": "tool_use"}, {"type": "tool_result"}, said("It is "), said("done."))

    assert gemini.read(output, ending()).message == "It is done."


def test_a_warning_that_was_overcome_is_no_failure(ending: Callable[..., ProgramEnding]) -> None:
    output = lines(
        {"type": "error", "severity": "warning", "message": "loop detected"},
        {"type": "message", "role": "assistant", "content": "Done."},
        {"type": "result", "status": "success"},
    )

    assert gemini.read(output, ending()).status == "ok"


def test_a_daily_quota_that_only_stderr_tells_of_is_a_usage_limit(ending: Callable[..., ProgramEnding]) -> None:
    said = (
        "Error when talking to Gemini API Full report available at: /tmp/x.json "
        "TerminalQuotaError: You have exhausted your daily quota on this model.\n    at call (gaxios.js:1:2)\n}\n"
    )

    result = gemini.read("", ending(code=173, stderr=said))

    assert (result.status, result.trouble, result.retry_at) == ("limited", "usage_limit", None)


def test_a_session_in_which_the_model_never_answered_is_not_resumed(ending: Callable[..., ProgramEnding]) -> None:
    init = '{"type": "init", "session_id": "80297f16-bfca-48c8-858a-59f18ede30bb", "model": "flash"}'
    answer = '{"type": "message", "role": "assistant", "content": "Hm."}'

    assert gemini.read(init, ending(1)).session_id is None
    assert gemini.read(f"{init}\n{answer}", ending(1)).session_id == "80297f16-bfca-48c8-858a-59f18ede30bb"
