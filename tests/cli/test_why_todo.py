"""`prloom why TODO-ID`, as a person reads it."""

from __future__ import annotations

import json

import pytest
from command_line import Prloom
from stage import Stage
from worked_plan import WorkedPlan

from prloom.engine.views import todo_history
from prloom.model.record import Timestamp
from prloom.model.work import Block
from prloom.model.work_report import RunLimit


def test_a_todo_that_is_done_shows_each_step_and_its_commit(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast").fail("1 failed").done()

    text = prloom("why", "t-1").out

    assert text.startswith("t-1  TODO of plan pr-7\n  Make it fast\n")
    assert "2026-01-01 12:00:00  work  claude  started (run run-1): attempt 1, with claude\n" in text
    assert "  work  prloom  failed attempt 1: make test failed: 1 failed\n" in text
    assert "  work  prloom  committed attempt 2, commit 11c0ffee\n" in text
    assert text.endswith("Now done in commit 11c0ffee.\n")


def test_a_todo_that_is_blocked_shows_why_and_the_command_that_goes_on(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast").park()

    text = prloom("why", "t-1").out

    assert 'Now blocked.\nThe plan is blocked: the TODO "Make it fast" is blocked: no progress' in text
    assert text.endswith("to go on, run `prloom todo pr-7 open t-1`.\n")


def test_an_attempt_that_a_block_has_stopped_is_not_in_progress(stage: Stage, prloom: Prloom) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("prepared")
    plan.commit(
        {"block": Block(reason="plugin bad failed", since=Timestamp.of(stage.clock()), way_on="prloom resume pr-7")}
    )

    assert "\nNow open; attempt 1 has stopped.\nThe plan is blocked: plugin bad failed;" in prloom("why", "t-1").out


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("ready", "Now open; attempt 1 has stopped, because the plan is paused: `prloom resume pr-7`."),
        ("running", "Now open; attempt 1 is in progress."),
    ],
)
def test_an_attempt_of_a_paused_plan_is_in_progress_only_while_its_run_goes_on(
    stage: Stage, prloom: Prloom, phase: str, said: str
) -> None:
    WorkedPlan(stage, "Make it fast").at(phase).commit({"paused": True})

    assert f"\n{said}\n" in prloom("why", "t-1").out


def test_texts_from_outside_cannot_write_to_the_terminal(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it \x1b[2Jfast").fail("\x1b]0;owned\x07")

    assert not set(prloom("why", "t-1").out) & {"\x1b", "\x07"}


def test_the_document_is_one_for_programs(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast").done()

    document = json.loads(prloom("why", "t-1", "--json").out)

    assert list(document) == ["todo", "state", "steps", "events"]
    assert list(document["steps"][-1]) == [
        *("ts", "stage", "by", "verdict", "reason", "durationMs", "actions", "todo", "commit"),
    ]


@pytest.mark.parametrize(
    ("steps", "begun"),
    [
        ([("taken", 1), ("started", 1)], 1),
        ([("taken", 1), ("started", 1), ("cut_short", 1), ("started", 1), ("cut_short", 1)], 1),
        ([("taken", 1), ("started", 1), ("failed", 1), ("started", 2)], 2),
        ([("taken", 1), ("started", 1), ("parked", None), ("taken", 1), ("started", 1)], 2),
        ([("taken", 1), ("limited", 1)], 0),
    ],
)
def test_a_run_that_was_cut_short_is_no_attempt(steps: list[tuple[str, int | None]], begun: int) -> None:
    assert todo_history.attempts_begun(steps) == begun


async def test_a_todo_that_waits_for_a_free_worker_names_the_setting(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast").at("ready")
    async with stage.running() as dispatcher:
        await stage.until(lambda: "pr-7" in dispatcher.registry.runtimes)
        since = Timestamp.of(stage.clock())
        limit = RunLimit(setting="agents.claude.max_parallel", since=since)
        dispatcher.registry.runtimes["pr-7"].in_flight.todo_limit = limit

        await stage.until(
            lambda: prloom("why", "t-1").out.endswith(
                "Now open; it waits: as many runs are active as agents.claude.max_parallel allows.\n"
            )
        )
        (wait,) = json.loads(prloom("status", "--json").out)["dashboard"]["waiting"]
        assert (wait["kind"], wait["since"]) == ("todo", "2026-01-01T12:00:00.000Z")
        assert wait["ageMs"] > 0
