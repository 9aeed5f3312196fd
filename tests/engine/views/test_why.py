from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stage import Stage, said
from stage_parts import deferring, refusing

from prloom.api import Author, PluginContext, Refused
from prloom.core.commands import requests
from prloom.engine.bus import inbox
from prloom.engine.bus.event_store import EventStore
from prloom.engine.views import why
from prloom.errors import PrloomError
from prloom.model.action import Action
from prloom.storage import json_codec, paths
from prloom.storage.safe_dir import SafeDir


def tell(stage: Stage, named: str = "e", plan: str | None = None) -> Mapping[str, Any]:
    """Return the document as a program reads it."""
    return json.loads(json_codec.encode(why.document(why.find(stage.paths, named, plan=plan))))


def steps(stage: Stage, named: str = "e") -> list[tuple[str, str, str]]:
    return [(step["stage"], step["by"], step["verdict"]) for step in tell(stage, named)["steps"]]


def looking_on(ctx: PluginContext) -> None:
    ctx.register_hook("onEvent", lambda event, ctx: None)


async def test_the_document_has_exactly_the_keys_of_the_contract(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("e", author=Author("ann", "write"), url="https://forge.example/e"))

    document = tell(stage)
    reply = document["steps"][-1]

    assert list(document) == ["event", "state", "steps"]
    for step in document["steps"]:
        assert list(step) == ["ts", "stage", "by", "verdict", "reason", "durationMs", "actions"]
    assert list(reply["actions"][0]) == ["id", "state", "url"]
    assert document["state"] == "triaged"
    assert document["event"] == {
        "id": "e",
        "source": "forge",
        "type": "pr_comment",
        "severity": "info",
        "title": "",
        "body": "hello",
        "replyTo": {"target": "forge", "token": {"thread": "e"}},
        "context": {},
        "author": {"login": "ann", "trust": "write", "bot": False},
        "url": "https://forge.example/e",
        "pr": 7,
        "plan": "pr-7",
    }


async def test_a_whole_life_is_told_step_by_step(stage: Stage, pr_7: Path) -> None:
    stage.plugin("watcher", looking_on)
    stage.plugin("quiet", deferring(once=True))
    await stage.take_in(said("e"))
    await stage.tick_after(minutes=2)

    assert steps(stage) == [
        ("intake", "prloom", "admitted"),
        ("onEvent", "watcher", "seen"),
        ("beforeTriage", "quiet", "deferred"),
        ("wait", "prloom", "due"),
        ("beforeTriage", "quiet", "passed"),
        ("triage", "scripted", "started"),
        ("triage", "scripted", "answered"),
        ("deliver", "forge", "delivered"),
    ]
    told = tell(stage)["steps"]
    assert told[2]["reason"] == "not now"
    assert isinstance(told[2]["durationMs"], int)
    assert told[3]["ts"] == "2026-01-01T12:02:00.000Z"
    assert told[5]["reason"] == "run run-1"


async def test_an_action_is_shown_as_it_stands_now_where_it_was_queued_and_as_it_stood_at_each_attempt(
    stage: Stage,
) -> None:
    stage.adopt()
    stage.bridge.refuse = refusing(Refused("down", retryable=True))
    await stage.take_in(said("e"))
    (queued,) = [step for step in tell(stage)["steps"] if step["verdict"] == "answered"]
    assert queued["actions"][0]["state"] == "retrying"
    await stage.tick_after(minutes=2)

    *_, answered, first, second = tell(stage)["steps"]

    (action,) = answered["actions"]
    assert action == {"id": action["id"], "state": "delivered", "url": f"https://forge.example/{action['id']}"}
    assert (first["verdict"], first["reason"]) == ("retrying", "down")
    assert first["actions"] == [{"id": action["id"], "state": "retrying", "url": None}]
    assert (second["verdict"], second["reason"]) == ("delivered", None)
    assert second["actions"] == [action]


async def test_what_an_operator_did_is_told(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("e", author=Author("eve", "none")))
    stage.ask("approve", "e")
    stage.plugin("quiet", deferring(once=True))
    await stage.tick()
    await stage.carry_out("drop", "e", reason="spam after all")

    told = [(step["stage"], step["by"], step["verdict"], step["reason"]) for step in tell(stage)["steps"]]
    assert told[0] == ("intake", "prloom", "held", "eve has no permission here; at least write is required")
    assert told[1] == ("operator", requests.OPERATOR, "vouched", "approved by the operator")
    assert told[-1] == ("operator", requests.OPERATOR, "dropped", "spam after all")
    assert tell(stage)["state"] == "dropped"


async def test_a_failed_action_that_is_tried_again_is_told(stage: Stage, pr_7: Path) -> None:
    stage.bridge.refuse = refusing(Refused("locked"))
    await stage.take_in(said("e"))
    await stage.carry_out("retry", "e")

    assert steps(stage)[-3:] == [
        ("deliver", "forge", "failed"),
        ("operator", "operator", "queued"),
        ("deliver", "forge", "delivered"),
    ]


async def test_a_command_is_told_with_its_answer(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("e", "/prloom help"))

    told = tell(stage)["steps"]

    assert [(step["stage"], step["verdict"], step["reason"]) for step in told][1] == (
        *("command", "handled", "/prloom help"),
    )
    assert [action["state"] for action in told[1]["actions"]] == ["delivered"]


async def test_the_end_of_its_todo_is_told_with_the_conversation_that_it_resolved(stage: Stage, pr_7: Path) -> None:
    def ask_for_it(batch: Any) -> Mapping[str, Any]:
        return {
            "items": [{"eventId": "e", "verdict": "todo"}],
            "todos": [{"title": "cache it", "context": "as asked", "eventIds": ["e"]}],
        }

    stage.triager.answer = ask_for_it
    await stage.take_in(said("e", type="pr_review_comment"), said("other"))
    plan = stage.local() / "plan.md"
    plan.write_text(plan.read_text().replace("- [ ]", "- [x]"))
    await stage.tick()

    done, delivered = tell(stage)["steps"][-2:]

    assert (done["stage"], done["verdict"], done["reason"]) == ("todo", "done", "cache it")
    assert [action["state"] for action in done["actions"]] == ["delivered"]
    assert delivered["actions"] == done["actions"]


async def test_the_end_of_each_todo_is_told_though_the_conversation_waits_for_the_last(stage: Stage) -> None:
    def ask_for_two(batch: Any) -> Mapping[str, Any]:
        asked = [{"title": title, "context": "", "eventIds": ["e"]} for title in ("first", "second")]
        return {"items": [{"eventId": "e", "verdict": "todo"}], "todos": asked}

    stage.adopt()
    stage.triager.answer = ask_for_two
    await stage.take_in(said("e", type="pr_review_comment"))
    plan = stage.local() / "plan.md"
    plan.write_text(plan.read_text().replace("- [ ] first", "- [x] first"))
    await stage.tick()

    done = tell(stage)["steps"][-1]

    assert (done["verdict"], done["reason"], done["actions"]) == ("done", "first", [])


async def test_an_event_that_nobody_has_looked_at_is_pending_without_steps(stage: Stage, pr_7: Path) -> None:
    stage.append(said("e"))

    document = tell(stage)

    assert (document["state"], document["steps"]) == ("pending", [])
    assert document["event"]["body"] == "hello"


async def test_an_open_event_survives_the_segments_before_a_snapshot(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet", deferring(once=True))
    await stage.take_in(said("e"))
    stage.rotate()
    whole = tell(stage)
    (stage.local() / "bus/decisions-000001.jsonl").unlink()
    await stage.tick_after(minutes=2)

    assert [step["verdict"] for step in whole["steps"]] == ["admitted", "deferred"]
    assert [step["verdict"] for step in tell(stage)["steps"]] == [
        *("deferred", "due", "passed", "started", "answered", "delivered"),
    ]
    assert tell(stage)["event"]["body"] == "hello"


async def test_an_event_whose_line_is_gone_is_told_from_the_log(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("e", author=Author("ann", "write")))
    journal = stage.local() / "bus/events.jsonl"
    journal.write_bytes(b"?" * (journal.stat().st_size - 1) + b"\n")

    document = tell(stage)

    assert document["state"] == "triaged"
    assert (document["event"]["author"]["login"], document["event"]["body"]) == ("ann", "")


# Finding it.


async def test_it_is_found_by_its_url_by_its_replys_id_and_by_its_replys_url(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("e", url="https://forge.example/c/1?a=ü"), said("other"))
    (action,) = [action for action in stage.bridge.actions_seen if action.related_event_id == "e"]

    by_id = tell(stage)

    assert tell(stage, "https://forge.example/c/1?a=ü") == by_id
    assert tell(stage, action.id) == by_id
    assert tell(stage, f"https://forge.example/{action.id}") == by_id


@pytest.mark.parametrize("ascii_only", [True, False])
def test_it_is_found_however_another_program_has_spelled_its_line(stage: Stage, *, ascii_only: bool) -> None:
    journal = stage.adopt() / "bus/events.jsonl"
    event = {"id": "ü/1", "source": "x", "type": "pr_comment", "body": "b", "url": "https://ü.example/"}
    line = {"ts": "t", "kind": "event", "schemaVersion": 1, "data": event}
    journal.write_text(json.dumps(line, ensure_ascii=ascii_only) + "\n")

    assert tell(stage, "ü/1")["event"]["body"] == "b"
    assert tell(stage, "https://ü.example/")["event"]["id"] == "ü/1"


async def test_of_several_versions_of_a_comment_the_newest_is_told(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet", deferring(once=True))
    await stage.take_in(said("e1", url="https://f/c"), said("e2", url="https://f/c", context={"supersedes": "e1"}))

    life = why.find(stage.paths, "https://f/c")

    assert (life.event.id, life.earlier) == ("e2", ("e1",))


async def test_the_todo_of_a_draft_is_said_to_be_one(stage: Stage) -> None:
    with SafeDir.make(stage.paths.root, *paths.LOCAL, paths.INBOX) as drafts:
        inbox.put(drafts, "idea", "# Idea\n\n## TODO\n- [ ] Do it <!-- prloom:todo t-0123456789ab -->\n")

    with pytest.raises(PrloomError, match=r"^t-0123456789ab is a TODO of a plan that has not begun: idea is a draft"):
        tell(stage, "t-0123456789ab")


async def test_what_nothing_has_is_refused_with_the_nearest_ids(stage: Stage, pr_7: Path) -> None:
    with pytest.raises(PrloomError, match=r"^no event comment-1: there are no events yet$"):
        tell(stage, "comment-1")
    stage.append(said("comment-12"), said("comment-13"))

    with pytest.raises(
        PrloomError, match=r"^no event, reply, action or TODO comment-14; did you mean comment-1[23] or comm"
    ):
        tell(stage, "comment-14")
    with pytest.raises(PrloomError, match=r"; `prloom events` lists all events$"):
        tell(stage, "z")


@pytest.mark.parametrize("events", [[], ["comment-12"]])
async def test_of_an_address_that_nothing_has_it_is_said_why_that_may_be(stage: Stage, events: list[str]) -> None:
    stage.adopt()
    stage.append(*map(said, events))
    unheard = (
        r"^prloom knows no event and no reply with the address https://github\.com/o/r/pull/9#issuecomment-3; "
        r"if it is newer than the last poll, run `prloom poll`; "
        r"if prloom does not look after its pull request yet, run `prloom adopt PR`$"
    )

    with pytest.raises(PrloomError, match=unheard):
        tell(stage, "https://github.com/o/r/pull/9#issuecomment-3")


async def test_a_part_of_an_id_finds_nothing(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("comment-12", "z", title="comment-1", context={"thread": "comment-1"}))

    for part in ("comment-1", "z", "prloom"):
        with pytest.raises(PrloomError, match=r"^no event"):
            tell(stage, part)


async def test_an_argument_that_is_no_utf_8_finds_nothing_and_breaks_nothing(stage: Stage, pr_7: Path) -> None:
    stage.append(said("e"))

    with pytest.raises(PrloomError, match=r"^no event"):
        tell(stage, "\udcff")


async def test_an_action_without_an_event_finds_nothing(stage: Stage, pr_7: Path) -> None:
    await stage.tick()
    with SafeDir.make(stage.local() / "bus") as bus:
        event_store = EventStore.open(bus, stage.clock)
        free = Action(id="a-free", target=said("x").reply_to, payload={"type": "close_pr"})
        event_store.commit("test", "test", actions=(msgspec.convert(msgspec.to_builtins(free), Action),))

    with pytest.raises(PrloomError, match=r"^no event a-free: there are no events yet"):
        tell(stage, "a-free")
