"""Commands to copy are shown whole, however narrow the terminal is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from operator_scene import OperatorScene, every_state

from prloom.cli.output import dashboard_text, layout, terminal
from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Dashboard

COMMANDS = re.compile(r"`(prloom [^`]*)`")


@pytest.fixture
def shown(tmp_path: Path) -> Dashboard:
    scene = every_state(OperatorScene(tmp_path))
    scene.dispatcher()
    return dashboard.read(scene.where, scene.now)


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have a terminal with so many columns."""

    def narrow(count: int) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(count))
        monkeypatch.setenv("NO_COLOR", "1")

    return narrow


@pytest.mark.parametrize("count", [40, 60, 80])
def test_the_status_of_a_narrow_terminal_has_whole_commands(
    shown: Dashboard, columns: Callable[[int], None], count: int
) -> None:
    columns(count)
    for part in dashboard_text.parts(shown):
        for entry in part.entries:
            text = " ".join(" ".join(entry).split())
            assert text.count("`prloom ") == len(COMMANDS.findall(text)), entry
            assert max(map(terminal.columns_of, entry)) <= count

    run = next(each.run for each in shown.working if each.run)
    plan = next(each.plan for each in shown.working if each.run == run)
    working = " ".join(line for entry in dashboard_text.parts(shown)[1].entries for line in entry)
    assert f"`prloom logs {plan} -f`" in working


def test_a_text_is_cut_before_a_command_and_not_within_it() -> None:
    assert terminal.fit("blocked: run `prloom resume pr-7` now", 24) == "blocked: run…"
    assert terminal.fit("blocked: run `prloom resume pr-7` now", 35) == "blocked: run `prloom resume pr-7`…"
    assert terminal.fit("a `word` that is code", 5) == "a `w…"


def test_no_word_of_a_command_is_cut_in_a_text_of_several_lines(columns: Callable[[int], None]) -> None:
    columns(40)
    name = "github:pull_request_review_comment:2101234567"

    assert f"{name}`" in layout.fitted(f"it is held; run `prloom approve {name}`", 4)
