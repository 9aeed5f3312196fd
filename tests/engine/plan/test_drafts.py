"""Replies to people who are not trusted wait as drafts; those to bots are not sent."""

from __future__ import annotations

from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author
from prloom.core.commands.requests import RequestVerb

EVE = Author("eve", "none")


async def a_draft(stage: Stage) -> str:
    """Have a stranger's comment approved and answered, and return the id of the draft."""
    stage.adopt()
    await stage.poll(said("e1", "please", author=EVE))
    await stage.carry_out("approve", "e1")
    ((action_id, queued),) = stage.state()["queue"].items()
    assert queued["draft"] is True
    return str(action_id)


async def ask(stage: Stage, verb: RequestVerb, action_id: str, **about: Any) -> None:
    await stage.carry_out(verb, action_id, **about)


async def test_a_draft_that_is_dropped_is_never_sent(stage: Stage):
    await ask(stage, "draft_drop", await a_draft(stage))

    assert (stage.bridge.posts, stage.state()["queue"]) == ([], {})


async def test_an_edited_draft_keeps_its_id_waits_on_and_is_sent_with_its_new_text(stage: Stage):
    action_id = await a_draft(stage)
    await ask(stage, "draft_edit", action_id, reason="In better words.")
    assert stage.bridge.posts == []
    assert list(stage.state()["queue"]) == [action_id]
    await ask(stage, "draft_send", action_id)

    assert stage.bridge.said == ["In better words."]


@pytest.mark.parametrize("verb", ["retry", "approve"])
async def test_nothing_else_sends_a_draft(stage: Stage, verb: RequestVerb):
    await ask(stage, verb, await a_draft(stage))

    assert stage.bridge.posts == []


async def test_a_draft_that_is_sent_is_still_looked_through_for_secrets(stage: Stage):
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": "e1", "verdict": "answered", "reply": "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"}],
        "todos": [],
    }
    await ask(stage, "draft_send", await a_draft(stage))

    assert stage.bridge.posts == []
    ((_, queued),) = stage.state()["queue"].items()
    assert queued["withheld"] is True


async def test_a_reply_to_a_bot_is_dropped_and_the_log_says_why(stage: Stage):
    stage.configure('[trust]\nbots = ["helper[bot]"]\n')
    stage.adopt()
    await stage.poll(said("e1", "done", author=Author("helper[bot]", "write", bot=True)))

    assert (stage.bridge.posts, stage.state()["queue"]) == ([], {})
    dropped = [each for decision in stage.decisions() for each in decision.get("deliveries", ())]
    assert [each["error"] for each in dropped] == ["not sent, for outbox.bots is never"]


async def test_a_reply_to_a_trusted_person_is_sent_unless_it_is_to_wait(stage: Stage):
    stage.configure('[outbox]\ntrusted = "draft"\nothers = "auto"\n')
    stage.adopt()
    await stage.poll(said("e1", "hello", author=Author("ann", "write")))

    assert stage.bridge.posts == []
    assert [queued["draft"] for queued in stage.state()["queue"].values()] == [True]


async def test_a_draft_outlives_a_restart_and_a_rebuild(stage: Stage):
    action_id = await a_draft(stage)
    (stage.local() / "bus/state/dispatcher.json").unlink()
    await stage.tick()

    assert stage.bridge.posts == []
    assert stage.state()["queue"][action_id]["draft"] is True
