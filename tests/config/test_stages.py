from collections.abc import Callable

import pytest

from prloom.config import stages
from prloom.config.models import Config
from prloom.errors import ConfigError

MODELS = "[models.strong]\nagent = 'claude'\nmodel = 'opus'\n[models.codex]\nagent = 'codex'\nmodel = 'o9'\n"


@pytest.mark.parametrize(
    ("setting", "choice"),
    [
        ("triage = 'gemini'", ("gemini", None)),
        ("triage = 'strong'", ("claude", "opus")),
        ("triage = {agent = 'amp'}", ("amp", None)),
        ("triage = {agent = 'opencode', model = 'x/y'}", ("opencode", "x/y")),
        ("default = 'strong'", ("claude", "opus")),
        ("default = 'strong'\ntriage = 'auto'", ("auto", None)),
        ("worker = 'strong'", ("auto", None)),
    ],
)
def test_a_stage_names_an_agent_or_a_model_or_falls_back_to_the_default(
    load: Callable[..., Config], setting: str, choice: tuple[str, str | None]
) -> None:
    assert stages.stage(load(f"{MODELS}[stages]\n{setting}"), "triage") == choice


def test_a_model_that_has_an_agents_name_wins_over_the_agent(load: Callable[..., Config]) -> None:
    assert stages.stage(load(f"{MODELS}[stages]\ntriage = 'codex'"), "triage") == ("codex", "o9")


def test_a_caller_may_choose_the_model(load: Callable[..., Config]) -> None:
    config = load(f"{MODELS}[stages]\nworker = 'gemini'")

    assert stages.stage(config, "worker", model="strong") == ("claude", "opus")
    assert stages.stage(config, "worker", model="flash") == ("gemini", "flash")


def test_a_stage_that_does_not_exist_is_named_with_the_nearest_one(load: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError, match=r"^no stage triag; did you mean triage\?$"):
        stages.stage(load(), "triag")


def test_the_command_agent_is_a_choice_once_it_names_a_program(load: Callable[..., Config]) -> None:
    config = load("[stages]\ntriage = 'command'\n[agents.command]\nargv = ['./my-agent', '--fast']")

    assert stages.stage(config, "triage") == ("command", None)
    assert config.agents.command.argv == ("./my-agent", "--fast")
