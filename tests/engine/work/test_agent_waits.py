"""An agent program that cannot be used, as a worker finds: a wait for all plans, and no attempt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from workbench import FAST, Run, Workbench

from prloom.engine.adoption import adopt
from prloom.model import record
from prloom.model.run import UnusableAgent
from prloom.model.state import DispatchState
from prloom.workspace import repository

SIGNED_OUT = Run(code='sys.exit("401 Unauthorized: invalid api key")', answer=None)
LIMITED = Run(code='sys.exit("usage limit reached; try again in 3 hours")', answer=None)


def other_plan(bench: Workbench) -> Callable[[], DispatchState]:
    """Adopt a second plan with the same TODO, and return what reads its state."""
    bench.project.git("branch", "other")
    repo = repository.find(bench.project.root)
    adopt.adopt_branch(repo, bench.stage.config, "other", plan_id=None, preset=None, now=bench.stage.clock())
    return lambda: record.from_wire(DispatchState, bench.stage.state("other"))


def add_todo(bench: Workbench) -> None:
    text = bench.stage.paths.worktree("other") / "prloom/.local/plan.md"
    with text.open("a") as file:
        file.write("- [ ] Make it fast\n")


async def test_a_workers_usage_limit_makes_all_plans_wait_and_counts_as_no_attempt(bench: Workbench):
    other = other_plan(bench)
    bench.script(LIMITED, FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()

    async with bench.stage.rounds() as again:
        await again()
        add_todo(bench)
        await again()

        waiting = [bench.state.work, other().work]
        assert bench.runs() == 1
        for work in waiting:
            assert work is not None
            assert (work.attempt, work.failures) == (1, 0)
            assert "usage limit reached" in (work.waits_for or "")
            assert work.retry_at is not None

        ends = max(work.retry_at for work in waiting if work is not None and work.retry_at is not None)
        bench.stage.clock.advance(seconds=(ends - bench.stage.clock()).total_seconds() + 1)
        await again()

    assert bench.commits == ["Be fast"]


async def test_a_program_that_is_not_signed_in_is_a_wait_of_all_plans_which_ends_when_it_works(bench: Workbench):
    other = other_plan(bench)
    bench.script(SIGNED_OUT, SIGNED_OUT, FAST, FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ(workers=2)

    async with bench.stage.rounds() as again:
        await again()
        add_todo(bench)
        await again()
        for work in (bench.state.work, other().work):
            assert work is not None
            assert (work.attempt, work.failures) == (1, 0)
            assert (work.waits_for or "").startswith("command is not signed in: ")
        assert bench.runs() == 1

        bench.stage.clock.advance(seconds=31)
        await again()
        assert bench.runs() == 2  # one run for all plans tried it

        bench.stage.ask("resume", "work")  # of one plan only, as soon as the sign-in works
        await again()
        await again()

    assert bench.commits == ["Be fast"]
    assert bench.runs() == 4
    assert other().done_todos != {}


async def test_a_retry_of_the_agent_ends_the_wait_for_its_limit_and_lifts_no_daily_limit(bench: Workbench):
    bench.script(LIMITED, FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()

    async with bench.stage.rounds() as again:
        await again()
        bench.stage.ask("retry_agent", "command")
        await again()

    assert bench.commits == ["Be fast"]


async def test_a_program_that_is_not_there_is_a_wait_that_says_what_to_correct(bench: Workbench):
    bench.stage.configure('[stages]\ndefault = "command"\n[agents.command]\nargv = ["./none"]\n')
    bench.todo("- [ ] Make it fast")

    await bench.tick()

    work = bench.state.work
    assert work is not None
    assert work.unusable == UnusableAgent(
        agent="command", cause="start", remedy="correct argv of [agents.command] in prloom.toml"
    )
    assert "is not an executable program" in (work.waits_for or "")


async def test_a_corrected_configuration_ends_the_wait_that_it_caused_at_the_next_start(bench: Workbench):
    bench.stage.configure('[stages]\ndefault = "command"\n[agents.command]\nargv = ["./none"]\n')
    bench.todo("- [ ] Make it fast")
    await bench.tick()
    bench.configure()
    bench.script(FAST)

    await bench.tick()

    assert bench.commits == ["Be fast"]


async def test_a_machine_without_an_agent_program_is_a_wait_that_ends_when_there_is_one(bench: Workbench):
    bench.stage.configure('[stages]\ndefault = "auto"\n')
    bench.todo("- [ ] Make it fast")

    await bench.tick()

    work = bench.state.work
    assert work is not None
    assert work.unusable is not None
    assert (work.unusable.agent, work.unusable.cause, work.attempt) == ("auto", "start", 1)
    assert "no agent program on PATH (looked for claude, codex, " in (work.waits_for or "")
    assert "install one" in work.unusable.remedy


async def test_without_an_identity_of_gits_the_commit_waits_and_is_made_as_soon_as_there_is_one(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    for role, what in product(("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")):
        monkeypatch.delenv(f"GIT_{role}_{what}", raising=False)
    bench.project.git("config", "--unset", "user.name")
    bench.project.git("config", "user.useConfigOnly", "true")
    await bench.make_it_fast()

    work = bench.state.work
    assert work is not None
    assert work.unusable == UnusableAgent(
        agent="git", cause="identity", remedy="set `git config --global user.name` and `user.email`"
    )
    assert "git does not know whose commits it makes in " in (work.waits_for or "")
    assert bench.commits == []

    bench.project.git("config", "user.name", "Ada")
    await bench.carry_out("retry_agent", "git")

    assert bench.commits == ["Be fast"]
    assert bench.runs() == 1
