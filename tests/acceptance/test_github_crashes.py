"""P1 and P3 through GitHub: the dispatcher is killed before and after each of its requests, once and twice."""

from __future__ import annotations

import asyncio
import signal
from typing import Literal

import pytest
from fake_github import RESET
from github_project import Project

from prloom.api import marked

pytestmark = [pytest.mark.allow_hosts(["127.0.0.1"]), pytest.mark.timeout(300)]

Moment = Literal["before", "after"]

NOTE = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def note(plan, triage):
        for event in triage.events:
            triage.emit_comment(event.reply_to, "Noted: " + event.body)
            triage.mark_event_handled(event.id)
"""

REQUESTS = 16
"""A few more than one round of this story makes."""


async def round_of(project: Project, *, kill: tuple[Moment, int] | None = None) -> bool:
    """Run one full tick, killed at a request if told to; return whether it was."""
    running = await asyncio.create_subprocess_exec(
        *project.repository.command("start", "--once"),
        cwd=project.repository.root,
        env=project.repository.env,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )

    def end() -> object:
        running.kill()
        return RESET

    if kill is not None:
        moment, number = kill
        (project.hub.before_next if moment == "before" else project.hub.after_next)(end, skip=number)
    code = await asyncio.wait_for(running.wait(), 60)
    project.hub.api.script.triggers.clear()
    return code == -signal.SIGKILL


async def settled(project: Project) -> None:
    """Let the dispatcher come to rest, and see that each comment was answered once and none was lost."""
    await round_of(project)
    plan = await project.plan()
    assert plan["events"]["handled"] == 2, plan
    assert plan["actions"] == {"queued": 0, "delivered": 2, "failed": []}, plan
    said = [reply for reply in project.replies if reply]  # a thread reply makes an empty review of its own
    assert sorted(text.partition("-->")[2].strip() for text in said) == ["Noted: And this", "Noted: Faster"]
    assert len({mark for reply in said for mark in marked(reply)}) == 2


async def begun(project: Project) -> None:
    project.repository.plugin("note", NOTE)
    toml = project.repository.root / "prloom.toml"
    toml.write_text(toml.read_text() + '[plugins]\nenabled = ["note"]\nisolation = "inline"\n')
    await project.run("adopt", str(project.pull.number))
    project.hub.comment(project.pull, "ann", "Faster")
    project.hub.inline(project.pull, "ann", "And this")


# What lies between two requests is killed at every write by the crash story of the engine; here it is the requests.
POINTS = [*(("after", number) for number in range(REQUESTS)), *(("before", number) for number in (0, 5, 9, 11, 12, 13))]


@pytest.mark.parametrize(("moment", "number"), POINTS)
async def test_p1_p3_killed_at_a_request_every_comment_is_answered_once(project: Project, moment: Moment, number: int):
    await begun(project)

    await round_of(project, kill=(moment, number))

    await settled(project)


@pytest.mark.parametrize(("first", "second"), [(5, 0), (11, 0), (12, 2)])
async def test_p1_p3_killed_twice_in_a_row_every_comment_is_answered_once(project: Project, first: int, second: int):
    await begun(project)

    await round_of(project, kill=("after", first))
    await round_of(project, kill=("after", second))

    await settled(project)


async def test_the_story_makes_no_more_requests_than_it_is_killed_at(project: Project):
    await begun(project)
    before = len(project.hub.asked)

    await round_of(project)

    assert len(project.hub.asked) - before <= REQUESTS
    await settled(project)
