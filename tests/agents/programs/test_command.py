"""Any program as an agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import command
from prloom.errors import AgentError


def _end(**data: object) -> str:
    return json.dumps({"activity": "TOOL_CALL_END", "data": {"toolCallId": "1", **data}})


def test_a_relative_program_is_that_of_the_operators_checkout(ask: Callable[..., RunRequest]) -> None:
    request = ask(argv=("./tools/my-agent", "--fast"), root=Path("/operator"), cwd=Path("/worktree"))

    assert command.invocation(request).argv == ("/operator/tools/my-agent", "--fast")


@pytest.mark.parametrize("program", ["my-agent", "/opt/my-agent"])
def test_a_program_on_path_or_with_a_whole_path_stays_as_it_is(ask: Callable[..., RunRequest], program: str) -> None:
    assert command.invocation(ask(argv=(program,))).argv == (program,)


@pytest.mark.parametrize(("rights", "only_reads"), [("read", "1"), ("work", "0")])
def test_the_program_learns_its_stage_and_its_rights(
    ask: Callable[..., RunRequest], rights: str, only_reads: str
) -> None:
    invocation = command.invocation(ask(argv=("a",), stage="triage", rights=rights, model="m"))

    assert invocation.env == {
        "PRLOOM_STAGE": "triage",
        "PRLOOM_RIGHTS": rights,
        "PRLOOM_READ_ONLY": only_reads,
        "PRLOOM_MODEL": "m",
    }


@pytest.mark.parametrize("argv", [(), ("",)])
def test_a_command_that_is_not_configured_says_where_to_configure_it(
    ask: Callable[..., RunRequest], argv: tuple[str, ...]
) -> None:
    with pytest.raises(AgentError) as raised:
        command.invocation(ask(argv=argv, stage="triage"))

    assert str(raised.value) == (
        'stage triage uses the agent "command", but no command is configured;'
        ' set argv = ["./my-agent"] under [agents.command] in prloom.toml'
    )


def test_all_of_stdout_is_the_answer(ending: Callable[..., ProgramEnding]) -> None:
    result = command.read('thinking…\n{"items": []}\n', ending())

    assert (result.status, result.message) == ("ok", 'thinking…\n{"items": []}')


def test_a_program_that_says_nothing_has_failed(ending: Callable[..., ProgramEnding]) -> None:
    assert command.read("\n", ending()).trouble == "empty"


START = (
    '{"activity": "TOOL_CALL_START", "data": {"toolCallId": "1", "toolName": "sh", "arguments": {"command": "make"}}}'
)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Let me see.\n", ("text", "", "Let me see.")),
        ('{"verdict": "handled"}', ("text", "", '{"verdict": "handled"}')),
        (START, ("call", "sh", "make")),
        (_end(success=True, result="fine"), ("result", "", "fine")),
        (_end(success=True, result={"files": 3}), ("result", "", '{"files": 3}')),
        (_end(success=True), ("result", "", "")),
        (_end(success=False, error="it took too long"), ("error", "", "it took too long")),
        (_end(success=False, result="half"), ("error", "", "half")),
    ],
)
def test_the_uses_of_tools_that_a_program_reports_are_shown_like_those_of_other_programs(
    line: str, shown: tuple[str, str, str]
) -> None:
    (entry,) = command.entries(line)

    assert (entry.kind, entry.tool, entry.text) == shown


@pytest.mark.parametrize(
    "line",
    ["\n", '{"activity": "TOOL_CALL_START", "data": {}}', '{"activity": "COMPACTION_START"}', '{"activity": ["X"]}'],
)
def test_other_activity_and_empty_lines_are_not_shown(line: str) -> None:
    assert command.entries(line) == ()
