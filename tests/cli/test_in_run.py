"""In an agent's run, prloom's commands only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.agents.run_ancestry import RUN_VARIABLE
from prloom.cli import main
from prloom.cli.lazy import LazyGroup

ONLY_READ = {
    *(
        "status",
        "events",
        "why",
        "diff",
        "runs",
        "log",
        "logs",
        "costs",
        "stats",
        "config",
        "doctor",
        "completion",
        "help",
    ),
    *("plugins list", "plugins status", "plugins logs", "skills list", "bridges list"),
    *("exchange read", "exchange check", "exchange inspect", "exchange stats"),
}
"""A command that is not here is refused. Add one only if it changes nothing, whatever its options are."""

READ_IN_ONE_FORM = {"todo p": "todo p add X", "outbox": "outbox send X", "mcp --run r": "mcp"}


@pytest.fixture
def in_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "run-1")


def leaves(group: LazyGroup, *above: str) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, LazyGroup):
            yield from leaves(command, *above, name)
        else:
            yield (*above, name)


def is_refused(said: str, path: str) -> bool:
    return f"prloom {path} was started by run run-1; only a person may decide this, outside of any run" in said


@pytest.mark.usefixtures("in_run")
def test_every_command_that_does_more_than_read_is_refused(stage: Stage, prloom: Prloom) -> None:
    assert isinstance(main.cli, LazyGroup)
    forms = {each.split()[0] for each in READ_IN_ONE_FORM}
    names = {" ".join(path) for path in leaves(main.cli)}
    refused = {name for name in names - forms if is_refused(prloom(*name.split(), "--help").err, name)}

    assert refused == names - ONLY_READ - forms


@pytest.mark.usefixtures("in_run")
@pytest.mark.parametrize(("reading", "writing"), READ_IN_ONE_FORM.items())
def test_a_command_that_reads_in_one_form_is_refused_in_every_other(
    reading: str, writing: str, stage: Stage, prloom: Prloom
) -> None:
    name = writing.split(maxsplit=1)[0]

    assert is_refused(prloom(*writing.split()).err, name)
    assert not is_refused(prloom(*reading.split()).err, name)


@pytest.mark.usefixtures("in_run")
@pytest.mark.parametrize("args", [("status",), ("events",), ("config", "work.mode")])
def test_a_run_may_read(args: tuple[str, ...], stage: Stage, prloom: Prloom) -> None:
    assert prloom(*args).code == 0


@pytest.mark.usefixtures("in_run")
def test_a_run_switches_no_plugin_on(stage: Stage, refused: Refusal) -> None:
    evil = stage.root / "prloom/plugins/evil"
    evil.mkdir(parents=True)
    (evil / "__init__.py").write_text("def setup(ctx):\n    pass\n")

    assert is_refused(refused("plugins", "enable", "evil"), "plugins enable")
    assert not Path(stage.root, "prloom.toml").exists() or "evil" not in Path(stage.root, "prloom.toml").read_text()
