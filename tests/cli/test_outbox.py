"""`prloom outbox`: the replies that wait for a person, through the real command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from stage import Stage, said

from prloom.api import Author
from prloom.cli.main import cli


@pytest.fixture
async def draft(stage: Stage) -> str:
    """A reply that waits, and its id."""
    stage.adopt()
    await stage.poll(said("e1", "please", author=Author("eve", "none")))
    await stage.carry_out("approve", "e1")
    (action_id,) = stage.state()["queue"]
    return str(action_id)


def run(stage: Stage, *args: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["-C", str(stage.root), *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output + str(result.exception or "")


def drafts(stage: Stage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(stage, "outbox", "--json"))["drafts"]
    return found


async def test_a_draft_is_listed_with_its_text(stage: Stage, draft: str):
    listed = run(stage, "outbox")
    (found,) = drafts(stage)

    assert f"{draft}  to forge, plan pr-7, answers e1" in listed
    assert "re e1" in listed
    assert set(found) == {"id", "plan", "target", "payload", "relatedEventId", "createdAt", "version"}
    assert (found["payload"], found["relatedEventId"]) == ({"type": "comment", "message": "re e1"}, "e1")


async def test_the_status_counts_the_drafts_and_says_where_they_are(stage: Stage, draft: str):
    actions = json.loads(run(stage, "status", "--json"))["plans"][0]["actions"]

    assert (actions["queued"], actions["drafts"]) == (0, 1)
    assert "pr-7  draft  1 reply waits for you to send, edit or drop  `prloom outbox` or " in run(stage, "status")


async def test_a_draft_is_edited_and_sent(stage: Stage, draft: str):
    assert run(stage, "outbox", "edit", draft, "--message", "In better words.") == f"Changed: {draft}.\n"
    assert [each["payload"]["message"] for each in drafts(stage)] == ["In better words."]
    assert run(stage, "outbox", "send", draft) == f"To be posted by the next `prloom start`: {draft}.\n"
    await stage.tick()

    assert stage.bridge.said == ["In better words."]
    assert run(stage, "outbox") == "No reply waits.\n"


async def test_a_draft_is_dropped(stage: Stage, draft: str):
    assert run(stage, "outbox", "drop", draft) == f"Dropped: {draft}.\n"
    assert drafts(stage) == []


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["send"], 2, "name the draft to send"),
        (["edit", "a", "b"], 2, "edit one draft at a time"),
        (["send", "a", "--message", "x"], 2, "--message is the new text of a draft; use it with edit"),
        (["send", "a-1"], 1, "a-1: there is no such draft; `prloom outbox` lists those that wait"),
    ],
)
async def test_what_cannot_be_done_is_said(stage: Stage, draft: str, args: list[str], code: int, message: str):
    assert message in run(stage, "outbox", *args, code=code)


async def test_an_empty_text_is_no_edit(stage: Stage, draft: str):
    assert "to drop the draft, run" in run(stage, "outbox", "edit", draft, "--message", " ", code=1)
    assert len(drafts(stage)) == 1
