"""What would publish a secret is kept back, visibly, until a person has looked at it and released it."""

from __future__ import annotations

import json
import logging

import pytest
from stage import Stage, said
from stage_parts import handling

from prloom.api import Refused
from prloom.engine.bus.event_store import EventStore
from prloom.storage.safe_dir import SafeDir

KEY = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture
async def withheld(stage: Stage) -> Stage:
    """An agent that wants to post a key, in answer to one of two comments."""
    stage.adopt()
    stage.triager.answer = lambda batch: {
        "items": [
            {"eventId": e.id, "verdict": "answered", "reply": f"It is {KEY}" if e.id == "bad" else "Sure."}
            for e in batch
        ],
        "todos": [],
    }
    stage.bridge.news = [said("bad"), said("good")]
    await stage.tick()
    return stage


def only(stage: Stage) -> dict[str, object]:
    (action,) = stage.state()["queue"].values()
    return dict(action)


async def test_a_reply_with_a_key_is_not_sent_and_its_neighbour_is(withheld: Stage):
    assert withheld.bridge.said == ["Sure."]
    action = only(withheld)
    assert (action["failed"], action["withheld"], action.get("attempts", 0)) == (True, True, 0)
    assert (
        action["error"]
        == f"withheld because it contains a GitHub token; to read it, run `prloom approve {action['id']}`"
    )


async def test_neither_the_log_nor_what_is_told_of_it_repeats_the_key(
    withheld: Stage, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    withheld.ask("retry", "bad")
    await withheld.tick()

    assert "is withheld because it contains a GitHub token" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in (withheld.local() / "bus/state/dispatcher.json").read_text()
    assert KEY not in json.dumps([decision.get("deliveries") for decision in withheld.decisions()])


async def test_a_retry_does_not_send_it(withheld: Stage):
    withheld.ask("retry", str(only(withheld)["id"]), "bad")
    await withheld.tick()

    assert withheld.bridge.said == ["Sure."]
    assert only(withheld)["withheld"]


async def test_a_command_in_a_comment_sends_it_neither(withheld: Stage):
    withheld.append(said("c1", "/prloom retry"), said("c2", "/prloom approve bad"), said("c3", "/prloom approve"))
    await withheld.tick()
    await withheld.tick()

    assert not any(KEY in post for post in withheld.bridge.posts)
    assert only(withheld)["withheld"]


async def test_the_operator_releases_it_by_its_own_id(withheld: Stage):
    withheld.ask("approve", "bad")
    await withheld.tick()
    assert withheld.bridge.said == ["Sure."]

    withheld.ask("approve", str(only(withheld)["id"]))
    await withheld.tick()

    assert withheld.bridge.said == ["Sure.", f"It is {KEY}"]
    assert withheld.state()["queue"] == {}


async def test_a_release_outlives_a_refusal_and_a_rebuild(withheld: Stage):
    withheld.bridge.refuse = lambda action: Refused("busy", retryable=True)
    withheld.ask("approve", str(only(withheld)["id"]))
    await withheld.tick()
    assert only(withheld)["released"]
    (withheld.local() / "bus/state/dispatcher.json").unlink()
    with SafeDir.make(withheld.local()) as local:
        EventStore.open(local.make_sub("bus"), withheld.clock).save()

    withheld.bridge.refuse = lambda action: None
    withheld.clock.advance(hours=1)
    await withheld.tick()

    assert withheld.bridge.said == ["Sure.", f"It is {KEY}"]


async def test_a_value_of_the_environment_is_known_whatever_its_form(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEPLOY_PASSWORD", "open sesame and barley")
    stage.adopt()
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": e.id, "verdict": "answered", "reply": "opensesame and-barley!"} for e in batch],
        "todos": [],
    }

    await stage.poll(said("a"))

    assert stage.bridge.said == []
    assert "it contains the value of DEPLOY_PASSWORD" in str(only(stage)["error"])


async def test_a_plugins_action_is_looked_through_too(stage: Stage):
    stage.plugin("teller", handling(f"<!-- {KEY} -->"))
    stage.adopt()

    await stage.poll(said("a"))

    assert stage.bridge.said == []
    assert only(stage)["withheld"]


async def test_what_was_posted_before_the_end_came_is_not_called_withheld(withheld: Stage):
    action = str(only(withheld)["id"])
    receipt = {"actionId": action, "at": "2026-01-01T12:00:00.000Z"}
    file = withheld.local() / "bus/state/bridge.forge.actions.json"
    file.write_text(json.dumps({"attempts": {}, "receipts": [receipt]}))
    withheld.ask("retry", action)

    await withheld.tick()

    assert withheld.state()["queue"] == {}
