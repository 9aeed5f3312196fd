"""`prloom help` shows the help of every command, as --help does."""

from __future__ import annotations

import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.agents.run_ancestry import RUN_VARIABLE


@pytest.mark.parametrize("names", [(), ("status",), ("plugins",), ("plugins", "list"), ("exchange", "run")])
def test_the_help_of_a_command_is_what_its_option_shows(stage: Stage, prloom: Prloom, names: tuple[str, ...]) -> None:
    ran = prloom("help", *names)

    assert (ran.code, ran.out) == (0, prloom(*names, "--help").out)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("statsu",), "prloom: no command statsu; did you mean stats? See `prloom --help`.\n"),
        (("plugins", "lst"), "prloom: no command lst; did you mean list? See `prloom plugins --help`.\n"),
        (("status", "x"), "prloom: prloom status has no commands of its own. See `prloom status --help`.\n"),
    ],
)
def test_a_command_that_does_not_exist_is_one_line(refused: Refusal, names: tuple[str, ...], said: str) -> None:
    assert refused("help", *names, code=2) == said


def test_a_run_may_read_the_help_of_a_command_that_it_may_not_give(
    stage: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "run-1")

    assert prloom("help", "start").code == 0
