"""`prloom pause` and `prloom resume`, with a dispatcher and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Prloom, Refusal
from stage import Stage, said


async def test_without_a_dispatcher_a_plan_is_paused_at_once_and_stays_paused_when_prloom_starts(
    stage: Stage, prloom: Prloom, pr_7: Path
) -> None:
    assert prloom("pause", "7").out == "Paused: pr-7.\n"

    await stage.take_in(said("e"))
    assert stage.fate("e") == ["pending"]
    assert stage.triager.batches == []
    assert prloom("resume", "pr-7").out == "Resumed: pr-7.\n"
    await stage.tick()
    assert stage.bridge.said == ["re e"]


async def test_a_running_dispatcher_pauses_and_resumes(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    async with stage.running():
        ran = prloom("pause", "pr-7")
        assert ran.out == "Sent to the running dispatcher, to pause: pr-7.\n"
        await stage.until(lambda: any(decision.get("paused") for decision in stage.decisions()))
        stage.append(said("e"))
        await stage.until(lambda: stage.fate("e") == ["pending"])

        prloom("resume", "pr-7")

        await stage.until(lambda: stage.bridge.said == ["re e"])


@pytest.mark.parametrize("args", [["--all"], ["pr-1", "pr-2"]])
async def test_all_plans_are_paused_and_resumed(stage: Stage, prloom: Prloom, args: list[str]) -> None:
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)

    assert prloom("pause", *args).out == "Paused: pr-1, pr-2.\n"

    assert [stage.state(plan)["paused"] for plan in ("pr-1", "pr-2")] == [True, True]
    assert prloom("resume", *args).out == "Resumed: pr-1, pr-2.\n"
    assert [stage.state(plan).get("paused", False) for plan in ("pr-1", "pr-2")] == [False, False]


@pytest.mark.parametrize(("answer", "paused"), [("y", ["pr-1", "pr-2"]), ("n", [])])
def test_on_a_terminal_the_question_comes_before_all_plans_are_paused(
    stage: Stage, on_terminal: Callable[..., list[str]], answer: str, paused: list[str]
) -> None:
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)

    lines = on_terminal(100, "pause", answers=answer + "\n")

    assert "Pause all plans (pr-1, pr-2)? [y/N]: " in "".join(lines)
    assert [plan for plan in ("pr-1", "pr-2") if stage.decisions(plan)] == paused


def test_where_nobody_can_be_asked_all_plans_are_paused_only_with_all(
    stage: Stage, refused: Refusal, pr_7: Path
) -> None:
    assert refused("pause") == (
        "prloom: no plan is named, and nothing was paused; to pause one, run `prloom pause PLAN`; "
        "to pause all, run `prloom pause --all`\n"
    )
    assert stage.decisions() == []


def test_resume_without_a_plan_resumes_all(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    prloom("pause", "--all")

    assert prloom("resume").out == "Resumed: pr-7.\n"


def test_only_the_plan_that_is_named_is_paused(stage: Stage, prloom: Prloom) -> None:
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)

    prloom("pause", "pr-1")

    assert stage.state("pr-1")["paused"]
    assert stage.decisions("pr-2") == []


def test_pausing_twice_is_one_decision(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    prloom("pause", "--all")
    prloom("pause", "--all")

    assert [decision.get("paused") for decision in stage.decisions()] == [True]


async def test_an_event_of_a_paused_plan_shows_how_to_resume_it(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.append(said("e"))
    prloom("pause", "--all")
    await stage.tick()

    assert prloom("why", "e").out.endswith("Now pending; its plan is paused; to resume it, run `prloom resume pr-7`.\n")


def test_plans_and_all_together_are_a_usage_error(stage: Stage, refused: Refusal, pr_7: Path) -> None:
    assert (
        refused("pause", "pr-7", "--all", code=2)
        == "prloom: name plans or use --all, not both. See `prloom pause --help`.\n"
    )


QUEUED = "---\nstatus: queued\n---\n# Make it fast\n\n- [ ] Drop the sleep\n"


def put(stage: Stage) -> Path:
    file = stage.root / "prloom/.local/inbox/fast.md"
    file.parent.mkdir(parents=True)
    file.write_text(QUEUED)
    return file


def test_a_queued_plan_is_a_draft_while_it_is_paused(stage: Stage, prloom: Prloom, refused: Refusal) -> None:
    file = put(stage)

    assert prloom("pause", "fast").out == "Paused: fast. It is a draft until `prloom resume fast`.\n"
    assert "status: draft" in file.read_text()
    assert "fast is a draft that is not queued; nothing works on it" in refused("pause", "fast")


def test_a_queued_plan_that_is_becoming_a_plan_is_not_paused_half_way(stage: Stage, refused: Refusal) -> None:
    file = put(stage)
    note = stage.root / "prloom/.local/activations/fast.json"
    note.parent.mkdir()
    note.write_text("{}")

    said = refused("pause", "fast")

    assert "fast is becoming a plan at this moment; pause it again when `prloom status` shows its worktree" in said
    assert file.read_text() == QUEUED
