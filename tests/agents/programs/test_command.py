"""Any program as an agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prloom.agents.agent import Ending, RunRequest
from prloom.agents.programs import command
from prloom.errors import AgentError


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


def test_all_of_stdout_is_the_answer(ending: Callable[..., Ending]) -> None:
    result = command.read('thinking…\n{"items": []}\n', ending())

    assert (result.status, result.message) == ("ok", 'thinking…\n{"items": []}')


def test_a_program_that_says_nothing_has_failed(ending: Callable[..., Ending]) -> None:
    assert command.read("\n", ending()).trouble == "empty"
