"""The inbox as the dispatcher sees it: with real git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from project import Project
from stage import Stage, until

from prloom.api import PluginContext
from prloom.engine.adoption import adopt
from prloom.engine.operator import new_draft
from prloom.engine.views import status
from prloom.model import record
from prloom.workspace import repository

TEXT = "---\nstatus: queued\n---\n# Make it fast\n\n## TODO\n- [ ] Drop the sleep\n"
DRAFT = TEXT.replace("queued", "draft")


def put(stage: Stage, text: str = TEXT, plan_id: str = "fast") -> Path:
    folder = stage.root / "prloom/.local/inbox"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{plan_id}.md"
    file.write_text(text)
    os.utime(file, (stage.clock().timestamp(),) * 2)
    return file


def shown(stage: Stage, plan_id: str = "fast") -> Mapping[str, Any]:
    plans = record.to_wire(status.read(stage.paths, datetime.now(UTC)))["plans"]
    return next(plan for plan in plans if plan["id"] == plan_id)


def listening(stage: Stage) -> list[tuple[str, str]]:
    """Have a plugin note the events of the repository as a whole."""
    seen: list[tuple[str, str]] = []

    def register(ctx: PluginContext) -> None:
        @ctx.hook("onGlobalEvent")
        def note(event: Any, context: Any) -> None:
            seen.append((event.type, event.context["plan"]))

    stage.plugin("listener", register)
    return seen


async def test_a_queued_draft_becomes_a_plan_within_a_tick(git_stage: Stage, project: Project):
    file = put(git_stage)
    assert shown(git_stage)["status"] == "queued"

    await git_stage.tick()

    assert not file.exists()
    found = shown(git_stage)
    assert (found["status"], found["branch"], found["title"]) == ("active", "fast", "Make it fast")
    assert found["worktree"] == str(git_stage.paths.worktree("fast"))
    assert git_stage.state("fast")["seq"] > 0


async def test_a_draft_waits_in_the_inbox_until_it_is_queued(git_stage: Stage, project: Project):
    file = put(git_stage, DRAFT)

    await git_stage.tick()

    found = shown(git_stage)
    assert file.read_text() == DRAFT
    assert (found["status"], found["blocked"], found["todos"]) == (
        "draft",
        False,
        {"total": 1, "done": 0, "blocked": 0, "current": None},
    )
    assert found.get("worktree") is None
    assert not git_stage.paths.worktree("fast").exists()


async def test_a_draft_whose_branch_is_there_is_blocked_until_that_is_gone(git_stage: Stage, project: Project):
    put(git_stage)
    project.git("branch", "fast")
    await git_stage.tick()
    found = shown(git_stage)
    assert (found["status"], found["blocked"]) == ("queued", True)
    assert "there is a branch fast here already" in found["lastError"]
    assert (found["block"]["reason"], found["block"]["wayOn"]) == (found["lastError"], "prloom edit fast")

    project.git("branch", "-D", "fast")
    await git_stage.tick()

    assert (shown(git_stage)["status"], shown(git_stage)["blocked"]) == ("active", False)


async def test_a_draft_whose_base_cannot_be_fetched_waits_for_origin_and_then_becomes_a_plan(
    git_stage: Stage, project: Project, tmp_path: Path
):
    origin = tmp_path / "origin.git"
    project.git("remote", "add", "origin", str(origin))
    file = put(git_stage)
    git_stage.clock.advance(minutes=1)
    async with git_stage.running() as dispatcher:
        await until(lambda: "draftWait" in shown(git_stage))
        found = shown(git_stage)
        assert (found["status"], found["blocked"], found["lastError"]) == ("queued", False, None)
        assert found["draftWait"]["reason"].startswith("the base main cannot be fetched from origin: ")
    assert shown(git_stage)["draftWait"]["reason"] == found["draftWait"]["reason"]
    async with git_stage.running() as dispatcher:
        project.git("clone", "--quiet", "--bare", str(project.root), str(origin))
        git_stage.clock.advance(seconds=31)
        dispatcher.poll()
        await until(lambda: not file.exists())

    assert (shown(git_stage)["status"], "draftWait" in shown(git_stage)) == ("active", False)


async def test_of_several_drafts_with_one_branch_the_first_gets_it_and_the_others_say_what_to_do(
    git_stage: Stage, project: Project
):
    names = [f"plan-{number}" for number in range(4)]
    for each in names:
        put(git_stage, TEXT.replace("status: queued", "status: queued\nbranch: same"), plan_id=each)

    await git_stage.tick()
    await git_stage.tick()

    plans = [each for each in names if shown(git_stage, each)["status"] == "active"]
    reasons = [shown(git_stage, each)["block"]["reason"] for each in names if each not in plans]
    what_to_do = (
        "there is a branch same here already; look after it with `prloom adopt --branch same`, "
        "or give the draft another `branch:`"
    )
    assert reasons == [what_to_do] * 3


async def test_an_inbox_that_was_removed_and_made_anew_is_noticed(git_stage: Stage, project: Project):
    async with git_stage.running() as dispatcher:
        await until((git_stage.root / "prloom/.local/inbox").is_dir)
        (git_stage.root / "prloom/.local/inbox").rmdir()
        put(git_stage)
        await until(lambda: "fast" in dispatcher.registry.runtimes)


async def test_a_new_draft_is_announced_once(git_stage: Stage, project: Project):
    seen = listening(git_stage)
    put(git_stage, DRAFT)
    for _ in range(2):
        await git_stage.tick()
    put(git_stage)
    await git_stage.tick()
    assert seen == [("plan_created", "fast")]

    put(git_stage, DRAFT, "slow")
    await git_stage.tick()

    assert seen == [("plan_created", "fast"), ("plan_created", "slow")]


async def test_an_announcement_that_was_cut_short_is_made_up_for_once(git_stage: Stage, project: Project):
    seen = listening(git_stage)
    put(git_stage, DRAFT)
    await git_stage.tick()
    noted = git_stage.root / "prloom/.local/bus/state/drafts.json"
    at = record.iso(git_stage.clock())
    noted.write_text(f'{{"fast": {{"at": "{at}", "told": false}}}}')  # as before its event was appended

    await git_stage.tick()

    assert seen == [("plan_created", "fast")]


async def test_an_inbox_that_has_not_changed_is_not_read(git_stage: Stage, project: Project):
    dispatcher = git_stage.dispatcher()
    drafts, spawned = dispatcher._drafts, []
    file = put(git_stage, DRAFT)
    os.utime(file.parent, (0, 0))
    bus = dispatcher.registry.repository.event_store

    def check() -> None:
        drafts.check(bus, spawned.append, lambda plan_id: None)

    check()
    with file.open("r+") as opened:  # in place: the folder stays as it is
        opened.write(TEXT)
        opened.truncate()
    for _ in range(59):
        check()
    assert spawned == []
    check()
    assert len(spawned) == 1
    await dispatcher._stop()


def test_a_plan_may_still_be_adopted_beside_drafts(git_stage: Stage, project: Project):
    put(git_stage, DRAFT)

    adopt.adopt_branch(
        repository.find(project.root), git_stage.config, "work", plan_id=None, preset=None, now=git_stage.clock()
    )

    assert [plan.id for plan in status.read(git_stage.paths, datetime.now(UTC)).plans] == ["fast", "work"]


async def test_a_queued_plan_without_a_todo_waits_for_one_and_says_so(git_stage: Stage, project: Project):
    file = put(git_stage, TEXT.replace("- [ ] Drop the sleep\n", ""))

    await git_stage.tick()

    assert file.exists()
    wait = shown(git_stage)["draftWait"]
    assert wait["reason"] == "it has no TODO under `## TODO`; add one with `prloom todo fast add TEXT`"
    assert wait["until"] is None

    put(git_stage)
    await git_stage.tick()
    assert shown(git_stage)["status"] == "active"


async def test_a_queued_plan_that_is_paused_and_resumed_becomes_a_plan(git_stage: Stage, project: Project):
    put(git_stage)
    new_draft.unqueue(git_stage.paths, "fast")

    await git_stage.tick()
    assert shown(git_stage)["status"] == "draft"

    new_draft.queue(git_stage.paths, git_stage.config, "fast")
    await git_stage.tick()
    assert shown(git_stage)["status"] == "active"
