"""P1 and P3 through GitHub: the real command is killed at its requests; the crash matrix kills it at each of them."""

from __future__ import annotations

import asyncio
import signal
from typing import Literal

import command_server
import pytest
from fake_github import RESET
from github_project import Project

from prloom.api import marked

pytestmark = [pytest.mark.allow_hosts(["127.0.0.1"]), pytest.mark.timeout(600)]

Moment = Literal["before", "after"]

NOTE = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def note(plan, triage):
        for event in triage.events:
            triage.emit_comment(event.reply_to, "Noted: " + event.body)
            triage.mark_event_handled(event.id)
"""


async def round_of(project: Project, *, kill: tuple[Moment, int] | None = None) -> bool:
    """Run one full tick, killed at a request if told to; return whether it was."""
    running = await asyncio.to_thread(project.repository.begin, "start", "--once")

    def end() -> object:
        running.kill()
        return RESET

    if kill is not None:
        moment, number = kill
        (project.hub.before_next if moment == "before" else project.hub.after_next)(end, skip=number)
    code = await asyncio.to_thread(running.wait, command_server.LIMIT)
    project.hub.api.script.triggers.clear()
    return code == -signal.SIGKILL


async def settled(project: Project) -> None:
    """Let the dispatcher come to rest, and see that each comment was answered once and none was lost."""
    await round_of(project)
    plan = await project.plan()
    assert plan["events"]["handled"] == 2, plan
    assert plan["actions"] == {"queued": 0, "delivered": 2, "failed": []}, plan
    said = [reply for reply in project.replies if reply]  # a thread reply makes an empty review of its own
    words = sorted(text.partition("-->")[2].removesuffix("\n\n*— prloom*").strip() for text in said)
    assert words == ["Noted: And this", "Noted: Faster"]
    assert len({mark for reply in said for mark in marked(reply)}) == 2


async def begun(project: Project) -> None:
    project.repository.plugin("note", NOTE)
    toml = project.repository.root / "prloom.toml"
    toml.write_text(toml.read_text() + '[plugins]\nenabled = ["note"]\nisolation = "inline"\n')
    await project.run("adopt", str(project.pull.number))
    project.hub.comment(project.pull, "ann", "Faster")
    project.hub.inline(project.pull, "ann", "And this")


@pytest.mark.parametrize("kills", [(("after", 5),), (("before", 12),), (("after", 13),), (("after", 11), ("after", 0))])
async def test_p1_p3_a_command_that_is_killed_at_its_requests_answers_every_comment_once(
    project: Project, kills: tuple[tuple[Moment, int], ...]
):
    await begun(project)

    killed = [await round_of(project, kill=kill) for kill in kills]

    assert all(killed)
    await settled(project)
