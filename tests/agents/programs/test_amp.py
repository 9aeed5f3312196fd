"""Amp: its command line, and the stream that its documents show (https://ampcode.com/news/streaming-json)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prloom.agents.agent import ProgramEnding, RunRequest, TokenUsage
from prloom.agents.programs import amp

STREAM = """\
{"type":"system","subtype":"init","cwd":"/repo","session_id":"T-2775dc92","tools":["oracle","..."],"mcp_servers":[]}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"what is 2+2?"}]},"session_id":"T-2775dc92"}
{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"text",\
"text":"2 + 2 equals 4."}],"stop_reason":"end_turn","usage":{"input_tokens":3,\
"cache_creation_input_tokens":367,"cache_read_input_tokens":12416,\
"output_tokens":8,"max_tokens":224000,"service_tier":"standard"}},"session_id":"T-2775dc92"}
{"type":"result","subtype":"success","duration_ms":2906,"is_error":false,"num_turns":1,"result":"2 + 2 equals 4.",\
"session_id":"T-2775dc92"}
"""


def test_the_documented_stream_is_read(ending: Callable[..., ProgramEnding]) -> None:
    result = amp.read(STREAM, ending())

    assert (result.status, result.message, result.session_id, result.turns) == (
        "ok",
        "2 + 2 equals 4.",
        "T-2775dc92",
        1,
    )
    assert result.usage == TokenUsage(input_tokens=12786, output_tokens=8, cached_tokens=12416)
    assert result.cost_usd is None


def test_a_stream_without_its_result_is_no_success(ending: Callable[..., ProgramEnding]) -> None:
    torn = "".join(STREAM.splitlines(keepends=True)[:-1])

    result = amp.read(torn, ending())

    assert (result.status, result.trouble, result.usage) == ("failed", "no_result", None)


def test_an_error_result_says_why(ending: Callable[..., ProgramEnding]) -> None:
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "error": "401 Unauthorized"}

    result = amp.read(json.dumps(failed), ending(1))

    assert (result.trouble, result.error) == ("auth", "401 Unauthorized")


@pytest.mark.parametrize(("rights", "disabled"), [("read", ["*"]), ("work", None)])
def test_a_read_only_run_is_outside_and_without_tools_and_a_worker_in_its_worktree_with_them(
    ask: Callable[..., RunRequest], rights: str, disabled: list[str] | None
) -> None:
    invocation = amp.invocation(ask(rights=rights))

    settings = Path(invocation.argv[invocation.argv.index("--settings-file") + 1])
    assert invocation.outside == (rights == "read")
    assert json.loads(settings.read_text(encoding="utf-8")).get("amp.tools.disable") == disabled


@pytest.mark.parametrize("rights", ["read", "work"])
def test_no_run_has_any_of_the_operators_mcp_servers(ask: Callable[..., RunRequest], rights: str) -> None:
    argv = amp.invocation(ask(rights=rights)).argv

    settings = json.loads(Path(argv[argv.index("--settings-file") + 1]).read_text(encoding="utf-8"))
    assert settings["amp.mcpServers"] == {}
    assert [(rule["matches"], rule["action"]) for rule in settings["amp.mcpPermissions"]] == [
        ({"command": "*"}, "reject"),
        ({"url": "*"}, "reject"),
    ]


def test_a_success_that_is_an_error_is_none(ending: Callable[..., ProgramEnding]) -> None:
    torn = {"type": "result", "subtype": "success", "is_error": True, "result": "it broke"}

    assert amp.read(json.dumps(torn), ending()).status == "failed"
