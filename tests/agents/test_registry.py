"""Finding an agent."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import executable
import pytest

from prloom.agents import programs, registry
from prloom.errors import AgentError
from prloom.model.agent_names import AGENT_NAMES


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """A machine whose PATH has one empty folder."""
    return {"PATH": str(tmp_path)}


def install(machine: dict[str, str], *programs: str) -> None:
    for program in programs:
        executable.write(Path(machine["PATH"]) / program, "#!/bin/sh\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cluade", "there is no agent 'cluade'; did you mean \"claude\"?"),
        (
            "\x1b[31m",
            "there is no agent '\\x1b[31m'; known are claude, codex, opencode, gemini, amp, command",
        ),
    ],
)
def test_an_unknown_agent_is_named_with_the_nearest_known_one_or_with_all(name: str, said: str) -> None:
    with pytest.raises(AgentError) as raised:
        registry.get(name)

    assert str(raised.value) == said


def test_each_name_of_an_agent_has_its_module_and_each_module_its_name() -> None:
    assert {module.name for module in pkgutil.iter_modules(programs.__path__)} == {*AGENT_NAMES}
    assert tuple(registry.AGENTS) == AGENT_NAMES


def test_a_command_gets_the_variables_of_every_agent_that_it_may_wrap() -> None:
    keys = {name: "x" for agent in registry.AGENTS.values() for name in agent.variables}

    assert keys.items() <= registry.allowed_environment(registry.get("command"), keys).items()
    assert "ANTHROPIC_*" in keys


def test_a_program_gets_its_own_variables_only() -> None:
    claude = registry.get("claude")
    keys = {name: "x" for agent in registry.AGENTS.values() for name in agent.variables}

    kept = registry.allowed_environment(claude, keys)

    assert {name for name in keys if name in kept} == set(claude.variables)


@pytest.mark.parametrize(
    ("installed", "found"),
    [
        (("amp", "gemini", "codex", "opencode", "claude"), "claude"),
        (("amp", "gemini", "opencode", "codex"), "codex"),
        (("amp", "gemini", "opencode"), "opencode"),
        (("amp", "gemini"), "gemini"),
        (("amp",), "amp"),
    ],
)
def test_auto_takes_the_first_program_of_the_order(
    machine: dict[str, str], installed: tuple[str, ...], found: str
) -> None:
    install(machine, *installed)

    assert registry.auto(machine).name == found


def test_auto_without_any_program_says_what_to_do(machine: dict[str, str]) -> None:
    assert registry.first_found(machine) is None
    with pytest.raises(AgentError, match=r"no agent program on PATH \(looked for claude, codex, "):
        registry.auto(machine)


def test_a_file_that_cannot_be_executed_is_no_program(machine: dict[str, str]) -> None:
    (Path(machine["PATH"]) / "claude").write_text("", encoding="utf-8")

    assert registry.first_found(machine) is None


@pytest.mark.parametrize("path", ["", ".", "bin:."])
def test_a_relative_folder_of_path_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    install({"PATH": str(tmp_path)}, "claude")
    monkeypatch.chdir(tmp_path)

    assert registry.first_found({"PATH": path}) is None
