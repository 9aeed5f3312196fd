"""Codex: its command line, and what no recording shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom.agents import codex
from prloom.agents.agent import Ending, Request


def test_a_read_only_run_is_sandboxed_and_searches_no_web(ask: Callable[..., Request]) -> None:
    argv = codex.invocation(ask(read_only=True)).argv

    assert 'sandbox_mode="read-only"' in argv
    assert 'web_search="disabled"' in argv


def test_a_read_only_run_does_not_come_upon_prlooms_own_files(ask: Callable[..., Request]) -> None:
    argv = codex.invocation(ask(read_only=True, cwd=Path("/tree"))).argv

    assert 'default_permissions="prloom"' in argv
    (permissions,) = (part for part in argv if part.startswith("permissions."))
    files = tomllib.loads(permissions)["permissions"]["prloom"]["filesystem"]
    assert files == {":root": "read", "/tree/prloom/.local": "deny"}


def test_a_read_only_run_takes_no_orders_from_files_of_the_worktree(ask: Callable[..., Request]) -> None:
    argv = codex.invocation(ask(read_only=True)).argv

    assert {"project_doc_max_bytes=0", "skills.include_instructions=false"} <= set(argv)


def test_a_worker_may_write_into_its_worktree(ask: Callable[..., Request]) -> None:
    argv = codex.invocation(ask(model="gpt")).argv

    assert argv[argv.index("--sandbox") :] == ("--sandbox", "workspace-write", "-m", "gpt", "-")


@pytest.mark.parametrize("name", ["plain", 'a "quoted" name', "back\\slash", "tab\tname", "ümlaut"])
def test_the_worktree_is_not_trusted_whatever_its_name(ask: Callable[..., Request], name: str) -> None:
    worktree = Path("/work") / name

    argv = codex.invocation(ask(cwd=worktree)).argv

    (override,) = (part for part in argv if part.startswith("projects="))
    assert tomllib.loads(override) == {"projects": {str(worktree): {"trust_level": "untrusted"}}}


def test_the_prompt_is_read_from_stdin(ask: Callable[..., Request]) -> None:
    assert codex.invocation(ask()).argv[-1] == "-"


def test_a_used_up_allowance_is_a_wait_until_its_reset(ending: Callable[..., Ending]) -> None:
    message = (
        "You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM."
    )
    failed = {"type": "turn.failed", "error": {"message": message}}

    result = codex.read(json.dumps(failed), ending(1))

    assert (result.status, result.retry_at) == ("limited", datetime(2026, 11, 21, 12, 17, tzinfo=UTC))


def test_a_turn_that_fails_without_a_word_is_a_failure(ending: Callable[..., Ending]) -> None:
    assert codex.read('{"type": "turn.failed"}', ending()).error == "the turn failed"


def test_a_command_that_was_declined_is_a_denial(ending: Callable[..., Ending]) -> None:
    item = {"type": "item.completed", "item": {"type": "command_execution", "status": "declined"}}

    assert codex.read(json.dumps(item), ending()).denials == ("command_execution",)


def test_a_connection_that_was_found_again_is_no_failure(ending: Callable[..., Ending]) -> None:
    events = (
        {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {}},
    )

    assert codex.read("\n".join(json.dumps(event) for event in events), ending()).status == "ok"
