"""The full screen, with Textual's pilot: one start of the application for several claims."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import git_folder
import pytest
from operator_scene import EVIL, OperatorScene, every_state
from stage import Stage, said
from textual.widgets import Static
from top_screen import app, detail, pane, screen, until

from prloom.api import Author
from prloom.cli.output import terminal
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

SNAPSHOT = Path(__file__).parents[1] / "data" / "top" / "80x24.txt"
SCROLLBAR = re.compile("[\u2581-\u2588]")


@pytest.fixture
def scene(tmp_path: Path) -> OperatorScene:
    git_folder.make(tmp_path / ".git")
    return every_state(OperatorScene(tmp_path))


async def test_the_screen_shows_the_dashboard_at_80_by_24_and_its_keys_move_filter_and_explain(
    scene: OperatorScene,
) -> None:
    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        shown = app(scene.where)
        async with shown.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "about: pr-8" in screen(shown))
            lines = screen(shown).splitlines()
            header = next(place for place, line in enumerate(lines) if "Needs you" in line)
            below = next(place for place, line in enumerate(lines) if "about: pr-8" in line)
            assert [SCROLLBAR.sub(" ", line) for line in lines[header:below]] == SNAPSHOT.read_text().splitlines()
            assert EVIL not in screen(shown)
            assert terminal.clean(EVIL)[:12] in screen(shown)

            await pilot.press("tab")
            await until(pilot, lambda: "> Working (4)" in screen(shown) and "Check it" in detail(shown))
            assert len(pane(shown, "plans")) == 18

            await pilot.press("slash", *"cache")
            await until(pilot, lambda: [len(pane(shown, name)) for name in ("needs", "plans")] == [1, 0])
            await pilot.press("escape")
            await until(pilot, lambda: len(pane(shown, "plans")) == 18)

            await pilot.press("question_mark")
            await until(pilot, lambda: "deny it" in screen(shown))
            await pilot.press("escape", "q")
    assert not shown.is_running


async def test_what_is_read_while_the_panes_are_taken_away_at_the_end_is_not_shown(scene: OperatorScene) -> None:
    shown = app(scene.where)
    async with shown.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 18)
        await shown.main.query_one("#needs").remove()

        await shown.read()
        await shown.action_mode("log")


async def test_a_change_on_the_disk_is_on_the_screen_within_half_a_second(tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    scene = OperatorScene(tmp_path)
    scene.plan("pr-1")
    shown = app(scene.where)
    async with shown.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 1)
        begun = asyncio.get_running_loop().time()
        scene.plan("pr-2", "- [b] Do it <!-- prloom:todo t-1 -->\n")

        await until(pilot, lambda: len(pane(shown, "plans")) == 2 and len(pane(shown, "needs")) == 1)

        assert asyncio.get_running_loop().time() - begun < 9  # the promise is 0.5 s; ages are drawn after 10 s


async def test_what_is_held_is_approved_by_a_key_once_all_of_it_was_shown_and_leaves_the_screen(stage: Stage) -> None:
    stage.adopt()
    await stage.take_in(
        said("c-1", "please", author=Author("eve", "none")), said("c-2", "now", author=Author("eve", "none"))
    )
    shown = app(stage.paths)
    async with shown.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "2 comments by eve" in screen(shown) and "please" in detail(shown))

        await pilot.press("a")
        await until(pilot, lambda: "Approve 2?" in screen(shown))
        dialog = str(shown.screen.query_one("#about Static", Static).render())
        assert "│ please" in dialog
        assert "│ now" in dialog
        await pilot.press("n")
        assert [event["state"] for event in stage.open().values()] == ["held", "held"]

        await pilot.press("a")
        await until(pilot, lambda: "Approve 2?" in screen(shown))
        await pilot.press("y")
        await until(pilot, lambda: not any("comments by eve" in row for row in pane(shown, "needs")))
        assert [event["state"] for event in stage.open().values()] == ["pending", "pending"]

        await pilot.press("tab", "tab", "tab", "p")
        await until(pilot, lambda: "paused" in pane(shown, "plans")[0])
        await pilot.press("u")
        await until(pilot, lambda: "paused" not in pane(shown, "plans")[0])


async def test_a_key_that_fits_nothing_here_says_so_and_changes_nothing(stage: Stage) -> None:
    stage.adopt()
    await stage.take_in(said("c-1", "please", author=Author("eve", "none")))
    shown = app(stage.paths)
    async with shown.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: "1 comment by eve" in screen(shown))

        await pilot.press("n")
        await until(pilot, lambda: "no call of a tool" in screen(shown))
        await pilot.press("x")
        await until(pilot, lambda: "Why drop it?" in screen(shown))
        await pilot.press(*"spam", "enter")
        await until(pilot, lambda: pane(shown, "needs") == [])

    assert stage.fate("c-1")[-1] == "dropped"
