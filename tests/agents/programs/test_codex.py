"""Codex: its command line, and what no recording shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import codex
from prloom.errors import AgentError

Ask = Callable[..., RunRequest]


def files(request: RunRequest) -> object:
    """Return what a run may do with which files."""
    argv = codex.invocation(request).argv
    assert 'default_permissions="prloom"' in argv
    (permissions,) = (part for part in argv if part.startswith("permissions."))
    return tomllib.loads(permissions)["permissions"]["prloom"]["filesystem"]


def test_a_read_only_run_reads_all_but_prlooms_own_files(ask: Ask) -> None:
    request = ask(rights="read", cwd=Path("/tree"))

    assert 'sandbox_mode="read-only"' in codex.invocation(request).argv
    assert files(request) == {":root": "read", "/tree/prloom/.local": "deny"}


def test_a_worker_writes_in_its_worktree_and_neither_in_gits_folders_nor_in_prlooms(ask: Ask) -> None:
    request = ask(rights="work", cwd=Path("/tree"))

    assert 'sandbox_mode="workspace-write"' in codex.invocation(request).argv
    assert files(request) == {
        ":root": "read",
        ":workspace_roots": {".": "write"},
        ":tmpdir": "write",
        "/tree/prloom/.local": "deny",
    }


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_run_searches_the_web_or_takes_orders_from_files_of_the_worktree(ask: Ask, rights: str) -> None:
    argv = codex.invocation(ask(rights=rights)).argv

    assert {'web_search="disabled"', "project_doc_max_bytes=0", "skills.include_instructions=false"} <= set(argv)


def test_a_session_is_gone_on_with_by_a_command_that_has_the_same_settings(ask: Ask) -> None:
    session = "01a2034a-4384-79f0-aca8-dbc5d366eb14"
    new, resumed = (codex.invocation(ask(session=each)).argv for each in (None, session))

    assert resumed == (*new[:2], "resume", *new[2:-1], session, "-")
    assert "--sandbox" not in resumed


def test_the_shell_keeps_what_git_was_given_and_nothing_else(ask: Ask) -> None:
    argv = codex.invocation(ask(environ={"GIT_ASKPASS": "false", "OPENAI_API_KEY": "k"})).argv

    policy = tomllib.loads("\n".join(part for part in argv if part.startswith("shell_environment_policy.")))
    assert policy["shell_environment_policy"]["set"] == {"GIT_ASKPASS": "false"}


HOME = {"HOME": "/home/op"}
CONFIG = Path("/home/op/.codex/config.toml")
SYSTEM = Path("/etc/codex/config.toml")
MANAGED = Path("/etc/codex/managed_config.toml")


def switched_off(request: RunRequest) -> set[str]:
    overrides = [part for part in codex.invocation(request).argv if part.startswith("mcp_servers")]
    servers = tomllib.loads("\n".join(overrides)).get("mcp_servers", {})
    assert all(server == {"enabled": False} for server in servers.values())
    return set(servers)


def test_a_read_only_run_has_none_of_the_operators_mcp_servers(ask: Ask) -> None:
    settings = {
        SYSTEM: '[mcp_servers.shared]\nurl = "https://x"\n',
        CONFIG: '[mcp_servers.mine]\ncommand = "x"\n[mcp_servers."an odd.name"]\ncommand = "y"\nenabled = true\n',
        MANAGED: '[mcp_servers.company]\ncommand = "z"\n',
    }

    names = switched_off(ask(rights="read", settings=settings))

    assert names == {"shared", "mine", "an odd.name", "company"}


def test_a_read_only_run_has_none_of_the_mcp_servers_of_a_profile(ask: Ask) -> None:
    text = (
        'profile = "w"\n[profiles.w.mcp_servers.mine]\ncommand = "x"\n[profiles.other.mcp_servers.not]\ncommand = "x"\n'
    )

    assert switched_off(ask(rights="read", settings={CONFIG: text})) == {"mine"}


def test_without_mcp_servers_nothing_is_switched_off(ask: Ask) -> None:
    # codex refuses a name that is not configured.
    assert switched_off(ask(rights="read", settings={CONFIG: 'model = "x"\n'})) == set()


def test_a_read_only_run_has_no_feature_that_brings_mcp_servers(ask: Ask) -> None:
    argv = codex.invocation(ask(rights="read")).argv

    assert {"features.apps=false", "features.plugins=false", "features.multi_agent=false"} <= set(argv)


def test_a_read_only_run_with_settings_that_cannot_be_understood_is_refused(ask: Ask) -> None:
    with pytest.raises(AgentError, match=r"config\.toml is not valid TOML .*cannot switch off its MCP servers"):
        codex.invocation(ask(rights="read", settings={CONFIG: "[mcp_servers.mine"}))


def test_a_read_only_run_with_a_server_that_cannot_be_switched_off_is_refused(ask: Ask) -> None:
    text = '[mcp_servers.mine]\ncommand = "x"\nenabled = true\n'

    with pytest.raises(AgentError, match=r"managed_config\.toml enables the MCP server 'mine'"):
        codex.invocation(ask(rights="read", settings={MANAGED: text}))


@pytest.mark.parametrize(
    ("environ", "path"),
    [(HOME, CONFIG), (HOME | {"CODEX_HOME": ""}, CONFIG), (HOME | {"CODEX_HOME": "/c"}, Path("/c/config.toml"))],
)
def test_its_settings_are_looked_for_where_codex_looks_for_them(environ: dict[str, str], path: Path) -> None:
    assert codex.settings_files(environ) == (SYSTEM, path, MANAGED)


def test_settings_in_a_folder_of_the_worktree_are_refused() -> None:
    with pytest.raises(AgentError, match=r"CODEX_HOME is '\.codex', which is relative"):
        codex.settings_files(HOME | {"CODEX_HOME": ".codex"})


@pytest.mark.parametrize("rights", ["read", "work"])
def test_the_shell_does_not_get_the_models_key(ask: Ask, rights: str) -> None:
    argv = codex.invocation(ask(rights=rights, run="run-7")).argv

    policy = tomllib.loads("\n".join(part for part in argv if part.startswith("shell_environment_policy.")))
    assert policy == {"shell_environment_policy": {"inherit": "core", "set": {"PRLOOM_RUN": "run-7"}}}


@pytest.mark.parametrize(
    "name", ["plain", 'a "quoted" name', "back\\slash", "tab\tname", "ümlaut", "smile \U0001f600", "delete \x7f"]
)
def test_the_worktree_is_not_trusted_whatever_its_name(ask: Ask, name: str) -> None:
    worktree = Path("/work") / name

    argv = codex.invocation(ask(cwd=worktree)).argv

    (override,) = (part for part in argv if part.startswith("projects="))
    assert tomllib.loads(override) == {"projects": {str(worktree): {"trust_level": "untrusted"}}}


def test_the_prompt_is_read_from_stdin(ask: Ask) -> None:
    assert codex.invocation(ask()).argv[-1] == "-"


def test_a_used_up_allowance_is_a_wait_until_its_reset(ending: Callable[..., ProgramEnding]) -> None:
    message = (
        "You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM."
    )
    failed = {"type": "turn.failed", "error": {"message": message}}

    result = codex.read(json.dumps(failed), ending(1))

    assert (result.status, result.retry_at) == ("limited", datetime(2026, 11, 21, 12, 17, tzinfo=UTC))


def test_a_turn_that_fails_without_a_word_is_a_failure(ending: Callable[..., ProgramEnding]) -> None:
    assert codex.read('{"type": "turn.failed"}', ending()).error == "the turn failed"


def test_a_command_that_was_declined_is_a_denial(ending: Callable[..., ProgramEnding]) -> None:
    item = {"type": "item.completed", "item": {"type": "command_execution", "status": "declined"}}

    assert codex.read(json.dumps(item), ending()).denials == ("command_execution",)


def test_a_connection_that_was_found_again_is_no_failure(ending: Callable[..., ProgramEnding]) -> None:
    events = (
        {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {}},
    )

    assert codex.read("\n".join(json.dumps(event) for event in events), ending()).status == "ok"
