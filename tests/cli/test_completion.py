"""The completion of a shell: the script that sets it up, and what it offers."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete
from command_line import Prloom
from stage import Stage, said
from worked_plan import WorkedPlan

from prloom.api import Author
from prloom.cli import main


def offered(stage: Stage, *args: str, incomplete: str = "") -> list[str]:
    """Return what a shell would offer in place of `incomplete`."""
    shell = ShellComplete(main.cli, {}, "prloom", main.COMPLETION)
    return [item.value for item in shell.get_completions(["-C", str(stage.root), *args], incomplete)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_calls_prloom(prloom: Prloom, shell: str) -> None:
    ran = prloom("completion", shell)

    assert ran.code == 0
    assert "_PRLOOM_COMPLETE" in ran.out


def test_plans_are_offered_where_a_plan_is_named(stage: Stage) -> None:
    stage.adopt("faster", pr=1)
    stage.adopt("flags", pr=2)
    stage.adopt("other", pr=3)

    for command in ("status", "events", "logs", "pause", "todo", "costs"):
        assert offered(stage, command, incomplete="f") == ["faster", "flags"]
    assert offered(stage, "log", "--plan", incomplete="o") == ["other"]


async def test_open_events_and_todos_are_offered_where_they_are_named(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast", "Make it small").done("t-1")
    await stage.take_in(said("h-1", author=Author("eve", "none")))

    assert offered(stage, "approve", incomplete="h") == ["h-1"]
    assert offered(stage, "why") == ["h-1", "t-1", "t-2"]
    assert offered(stage, "todo", "pr-7", "drop") == ["t-1", "t-2"]
    assert offered(stage, "todo", "other", "drop") == []


def test_without_a_repository_nothing_is_offered(stage: Stage, tmp_path: object) -> None:
    shell = ShellComplete(main.cli, {}, "prloom", main.COMPLETION)

    assert shell.get_completions(["-C", "/nowhere", "status"], "") == []


def test_a_title_from_outside_cannot_add_an_item_or_write_to_the_terminal(stage: Stage) -> None:
    WorkedPlan(stage, "Make \x1b[2Jit\u2028fast")

    shell = ShellComplete(main.cli, {}, "prloom", main.COMPLETION)
    (item,) = shell.get_completions(["-C", str(stage.root), "why"], "t-")
    assert item.help is not None
    assert item.help.isprintable()
