"""What a person reads of the work on TODOs in `prloom status`, and in the last line of `prloom start --once`."""

from __future__ import annotations

import re
from datetime import timedelta

import click
import pytest
from command_line import Prloom
from stage import Stage
from worked_plan import WorkedPlan

from prloom.cli.start import _outcome
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures
from prloom.model.record import Timestamp
from prloom.model.work import Kept


def test_what_is_in_progress_is_one_line_with_its_attempt_and_run(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast", "Make it small").at("running")

    text = prloom("status", "--all").out

    assert "1 plan: 1 TODO in progress, 1 TODO open.\n" in text
    assert "pr-7  #7  active\n  1 TODO in progress, 1 TODO open; TODOs 0/2\n" in text
    assert "  doing    t-1  Make it fast: attempt 1, begun " in text
    assert "\n           run run-1\n" in text


def test_what_is_blocked_needs_the_operator_and_names_the_command_that_goes_on(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast").park()

    text = prloom("status", "--all").out

    assert "Needs you (1)\n  " in text
    told = 'TODO "Make it fast": no progress: two attempts in a row ended alike: make test failed: 1 failed\n'
    assert f"pr-7  blocked  {told}" in text
    assert re.search(r"\n {10,}`prloom todo pr-7 open t-1`\n", text)
    assert "pr-7  #7  active  blocked\n" in text


def test_a_wait_of_the_work_is_shown_with_its_reason_and_its_end(stage: Stage, prloom: Prloom) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    until = stage.clock() + timedelta(days=36500)
    plan.commit(work_failures.limited(plan.ctx, plan.work, AgentWait("the usage limit is reached", until, known=True)))

    text = prloom("status", "--all").out

    assert "1 plan: 1 TODO waiting.\n" in text
    assert "waits: the usage limit is reached, since 2026-01-01 12:00:00; next try in " in text
    assert "(2125-12-08 12:00:00)" in text


def test_texts_from_a_plan_cannot_write_to_the_terminal(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it \x1b[2Jfast").park()

    assert "\x1b" not in prloom("status", "--all").out


@pytest.mark.parametrize("phase", ["parked", "waiting", "open"])
def test_the_last_line_of_a_round_says_what_is_left_of_the_work(stage: Stage, phase: str) -> None:
    plan = WorkedPlan(stage, "Make it fast")
    if phase == "parked":
        plan.park()
    if phase == "waiting":
        plan.at("ready")
        until = stage.clock() + timedelta(hours=1)
        plan.commit(
            work_failures.limited(plan.ctx, plan.work, AgentWait("the usage limit is reached", until, known=True))
        )

    expected = {"parked": "1 plan blocked", "waiting": "1 TODO waiting", "open": "1 TODO open"}

    last_line = click.unstyle(_outcome(stage.paths.worktrees, stage.root))
    assert last_line == f"1 plan: {expected[phase]}. `prloom status` shows more."


def test_until_when_or_why_a_worktree_is_kept_is_shown(stage: Stage, prloom: Prloom) -> None:
    plan = WorkedPlan(stage, "Make it fast")
    until = Timestamp.of(stage.clock() + timedelta(days=36500))

    plan.commit({"kept": Kept(until=until)})
    assert "  kept     until 2125-12-08 12:00:00 (in " in prloom("status", "--all").out

    plan.commit({"kept": Kept(reason="1 TODO is open")})
    way_on = "`prloom forget pr-7 --yes` gives it up with what is open in it"
    assert f"  kept     1 TODO is open\n           {way_on}\n" in prloom("status", "--all").out
