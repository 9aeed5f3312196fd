"""Each key does what the help says: several keys at one start of the screen."""

from __future__ import annotations

import re
from pathlib import Path

import git_folder
import pytest
from msgspec.structs import replace
from operator_scene import OperatorScene, every_state
from stage import Stage, said
from stage_parts import deferring
from textual.pilot import Pilot
from top_screen import app, detail, pane, screen, until

from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Wait
from prloom.model import record
from prloom.model.decision import Decision
from prloom.storage import envelope
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir
from prloom.top import detail as detail_text
from prloom.top import rows
from prloom.top.app import TopApp
from prloom.top.dialogs import HELP
from prloom.top.keys import ActionKeys
from prloom.top.panes import Pane


async def choose(pilot: Pilot[None], shown: TopApp, name: str, words: str) -> None:
    """Choose the row of a pane that has these words."""
    found = shown.main.query_one(f"#{name}", Pane)
    found.focus()
    found.highlighted = next(place for place, row in enumerate(pane(shown, name)) if words in row)
    await pilot.pause()


async def test_what_is_shown_of_a_row_follows_the_key(tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    scene = every_state(OperatorScene(tmp_path))
    shown = app(scene.where)
    async with shown.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 18)
        await choose(pilot, shown, "plans", "pr-1  ")
        await until(pilot, lambda: "about: pr-1" in screen(shown) and "Rename foo to bar" in detail(shown))
        for key, title in (("h", "history: pr-1"), ("v", "diff: pr-1"), ("l", "log: pr-1"), ("enter", "about: pr-1")):
            await pilot.press(key)
            await until(pilot, lambda title=title: title in screen(shown))

        await pilot.press("l")
        await until(pilot, lambda: "20260101T115600000Z-worker-00000001" in detail(shown))

        await pilot.press("w")
        await until(pilot, lambda: "no question waits here; choose one under" in screen(shown))


async def test_what_cannot_be_undone_is_asked_first(tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    shown = app(every_state(OperatorScene(tmp_path)).where)
    with SafeDir.make(tmp_path, "prloom", ".local") as local, DispatcherLock(local):  # or nothing is being worked on
        async with shown.run_test(size=(120, 60), notifications=True) as pilot:
            for key, pane_name, row, question in (
                ("s", "needs", "draft", "Send the draft?"),
                ("k", "working", "pr-1", "Stop the run, and pause its plan?"),
                ("x", "needs", "held", "Why drop it?"),
                ("y", "needs", "confirm", "Allow this call?"),
                ("Y", "needs", "confirm", "Allow this call, and all later calls of this tool?"),
            ):
                await until(pilot, lambda name=pane_name, row=row: any(row in each for each in pane(shown, name)))
                await choose(pilot, shown, pane_name, row)
                await pilot.press(key)
                await until(pilot, lambda question=question: question in screen(shown))
                await pilot.press("escape")
                await until(pilot, lambda: len(shown.screen_stack) == 1)


async def test_the_detail_of_what_waits_says_what_waits_and_why_where_there_is_no_plan_to_show(tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    scene = OperatorScene(tmp_path)
    every_state(scene)
    wait = Wait(kind="plugin", plan=None, id="slow", text="the daemon of slow", reason="it is started again")
    (row,) = rows.of(replace(dashboard.read(scene.where, scene.now), waiting=(wait,)))["waiting"]

    assert detail_text.text(scene.where, row.subject, "about") == "plugin: the daemon of slow\nit is started again\n"


async def test_a_key_that_does_not_fit_the_row_says_so_and_asks_nothing(tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    shown = app(every_state(OperatorScene(tmp_path)).where)
    async with shown.run_test(size=(120, 60), notifications=True) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 18)
        await choose(pilot, shown, "plans", "pr-10")
        for key, told in (
            ("s", "this is not a draft of a reply"),
            ("k", "no agent works here; choose a run"),
            ("y", "no call of a tool and no question waits here"),
            ("Y", "no call of a tool and no question waits here"),
            ("x", "this is neither an event nor an action"),
        ):
            await pilot.press(key)
            await until(pilot, lambda told=told: told in screen(shown))
            assert len(shown.screen_stack) == 1
            shown.clear_notifications()
            await until(pilot, lambda told=told: told not in screen(shown))


async def test_a_key_tells_what_was_done_lately_what_it_cost_and_which_plugin_is_slow(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("c-1"))
    slow = record.sparse(Decision(seq=1000, stage="onEvent", by="slow", duration_ms=61_000))
    with (pr_7 / "bus/decisions.jsonl").open("ab") as log:
        log.write(envelope.encode("decision", slow, record.iso(stage.clock.now)) + b"\n")
    OperatorScene(stage.root, stage.clock.now).ended_run(1)
    shown = TopApp(app(stage.paths).operator, clock=lambda: stage.clock.now)
    async with shown.run_test(size=(120, 50)) as pilot:
        await until(pilot, lambda: len(pane(shown, "plans")) == 1)
        await pilot.press("t")
        await until(pilot, lambda: "The last hour" in screen(shown))
        told = screen(shown)
        assert "triage by scripted: answered c-1" in told
        assert re.search(r"Plugins, the slowest first\W+slow +1 time, p50 1 min 1 s", told)
        assert re.search(r"all +1 .*0\.5000 USD", told)
        await pilot.press("escape")
        await until(pilot, lambda: len(shown.screen_stack) == 1)


async def test_what_is_deferred_is_retried_and_a_draft_sent_by_a_key(stage: Stage) -> None:
    stage.configure('[outbox]\ntrusted = "draft"\n')
    stage.adopt()
    stage.plugin("quiet", deferring(saying="wait"))
    await stage.take_in(said("c-1"), said("d-1", "wait"))
    shown = app(stage.paths)
    async with shown.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: len(pane(shown, "waiting")) == 1)
        await choose(pilot, shown, "waiting", "d-1")
        await pilot.press("r")
        await until(pilot, lambda: pane(shown, "waiting") == [])
        assert stage.open()["d-1"]["state"] == "pending"

        await choose(pilot, shown, "needs", "draft")
        await pilot.press("s")
        await until(pilot, lambda: "Send the draft?" in screen(shown))
        await pilot.press("y")
        await until(pilot, lambda: not any("draft" in row for row in pane(shown, "needs")))


KEYS = sorted({each[0] for each in (*TopApp.BINDINGS, *ActionKeys.BINDINGS) if isinstance(each, tuple)})


@pytest.mark.parametrize("key", KEYS)
def test_the_help_names_each_key(key: str) -> None:
    names = {"question_mark": "?", "slash": "/", "escape": "Esc"}

    assert re.search(rf"(^|\s){re.escape(names.get(key, key))}(  |:|;| )", HELP, re.MULTILINE)
