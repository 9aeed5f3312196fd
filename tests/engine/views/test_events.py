from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author, marker
from prloom.engine.bus.event_store import EventStore
from prloom.engine.views import events, status, why
from prloom.engine.views.events import EventFilter
from prloom.errors import PrloomError
from prloom.model import event as model
from prloom.model.decision import Change
from prloom.storage import json_codec
from prloom.storage.safe_dir import SafeDir

pytestmark = pytest.mark.usefixtures("pr_7")


def rows(stage: Stage, plan: str | None = None, state: str | None = None) -> list[Mapping[str, Any]]:
    """Return the rows as a program reads them."""
    listing = events.every(stage.paths, EventFilter(state=state), plan=plan)
    assert listing.errors == ()
    return json.loads(json_codec.encode(listing.rows))


def states(stage: Stage) -> Mapping[str, str]:
    return {row["id"]: row["state"] for row in rows(stage)}


async def test_a_row_has_exactly_the_keys_of_the_contract(stage: Stage) -> None:
    await stage.take_in(said("e", title="Cache", url="https://forge.example/e", author=Author("ann", "write")))

    assert rows(stage) == [
        {
            "id": "e",
            "plan": "pr-7",
            "type": "pr_comment",
            "author": "ann",
            "title": "Cache",
            "url": "https://forge.example/e",
            "state": "triaged",
            "reason": None,
            "by": "scripted",
            "attempts": 0,
            "createdAt": "2026-01-01T12:00:00.000Z",
            "updatedAt": "2026-01-01T12:00:00.000Z",
        },
    ]


async def test_every_event_there_ever_was_is_listed_in_the_order_in_which_they_came(stage: Stage) -> None:
    stage.plugin("quiet", deferring(saying="wait"))
    await stage.take_in(said("z", "wait"), said("held", author=Author("eve", "read")), said("a"))
    await stage.take_in(said("edit", "wait", context={"supersedes": "z"}))
    stage.append(said("fresh"))

    assert states(stage) == {
        "z": "superseded",
        "held": "held",
        "a": "triaged",
        "edit": "deferred",
        "fresh": "pending",
    }
    assert list(states(stage)) == ["z", "held", "a", "edit", "fresh"]


async def test_a_deferred_event_names_its_owner_its_reason_and_its_attempts(stage: Stage) -> None:
    stage.plugin("quiet", deferring(saying="wait"))
    await stage.take_in(said("e", "wait"))
    await stage.tick_after(minutes=2)

    (row,) = rows(stage)

    assert (row["by"], row["reason"], row["attempts"]) == ("quiet", "not now", 2)
    assert row["updatedAt"] == "2026-01-01T12:02:00.000Z"


async def test_an_event_whose_triage_failed_waits_for_that_and_not_for_the_agent(stage: Stage) -> None:
    stage.triager.answer = lambda batch: None
    await stage.take_in(said("e"))

    (row,) = rows(stage)

    assert (row["state"], row["by"], row["attempts"]) == ("deferred", "triage", 1)


def test_an_event_that_nobody_has_looked_at_is_pending_once(stage: Stage) -> None:
    stage.append(said("e"), said("e", "again"))

    assert [row["state"] for row in rows(stage)] == ["pending"]
    assert rows(stage)[0]["reason"] == "no dispatcher has taken it in yet"


async def test_a_post_of_prlooms_own_and_a_second_line_of_one_id_are_no_events(stage: Stage) -> None:
    await stage.take_in(said("e"))
    (action,) = [action.id for action in stage.bridge.actions_seen]
    await stage.take_in(said("own", f"re e\n\n{marker(action)}", context={"remoteId": f"remote-{action}"}), said("e"))

    assert states(stage) == {"e": "triaged"}
    with pytest.raises(PrloomError, match=r"^own was not taken in, because prloom posted it itself, or knew it alread"):
        why.find(stage.paths, "own")


async def test_events_of_one_state_or_one_plan_can_be_listed_alone(stage: Stage) -> None:
    stage.adopt("other", pr=8)
    stage.append(said("a"), said("b", author=Author("eve", "none")))
    await stage.take_in(said("c"), plan_id="other")

    assert [row["id"] for row in rows(stage, state="held")] == ["b"]
    assert [row["id"] for row in rows(stage, plan="other")] == ["c"]
    assert [row["id"] for row in rows(stage, plan="other", state="held")] == []


async def test_events_of_the_repository_as_a_whole_are_listed_too(stage: Stage) -> None:
    await stage.poll(said("issue", pr=None))

    assert [(row["plan"], row["id"], row["state"]) for row in rows(stage)] == [("", "issue", "handled")]


async def test_prlooms_own_notices_are_listed_where_they_are_asked_for(stage: Stage) -> None:
    await stage.take_in(said("notice", type="plan_created"), said("a"))

    def listed(**wanted: Any) -> list[str]:
        return [row.id for row in events.every(stage.paths, EventFilter(**wanted)).rows]

    assert listed() == ["a"]
    assert listed(own=True) == ["notice", "a"]
    assert listed(type="plan_created") == ["notice"]


async def test_closed_segments_are_read_and_those_taken_away_lose_no_open_event(stage: Stage) -> None:
    stage.plugin("quiet", deferring(saying="wait"))
    await stage.take_in(said("done"), said("open", "wait"))
    stage.rotate()

    assert states(stage) == {"done": "triaged", "open": "deferred"}
    (stage.local() / "bus/decisions-000001.jsonl").unlink()
    assert states(stage) == {"open": "deferred"}


async def test_an_event_whose_line_is_gone_is_still_listed_by_what_the_log_knows(stage: Stage) -> None:
    await stage.take_in(said("e", title="Cache", author=Author("ann", "write")))
    journal = stage.local() / "bus/events.jsonl"
    journal.write_bytes(b"?" * (journal.stat().st_size - 1) + b"\n")

    (row,) = rows(stage)

    assert (row["id"], row["author"], row["title"], row["state"]) == ("e", "ann", "", "triaged")


@pytest.mark.parametrize(("title", "body", "gist"), [("T", "b", "T"), ("", "\n first\nsecond", "first"), ("", "", "")])
def test_for_people_there_is_a_line_of_what_it_says(stage: Stage, title: str, body: str, gist: str) -> None:
    stage.append(said("e", body, title=title))

    (listed,) = events.every(stage.paths).listed

    assert listed.gist == gist
    assert isinstance(listed.row, model.Record)


async def test_the_list_of_events_why_and_status_say_the_same_of_each_event(stage: Stage) -> None:
    stage.plugin("quiet", deferring(saying="wait"))
    await stage.take_in(said("z", "wait"), said("held", author=Author("eve", "read")), said("a"))
    with SafeDir.make(stage.local(), "bus") as bus:
        event_store = EventStore.open(bus, stage.clock)
        again = Change(event_id="a", verdict="parked", state="parked", reason="after its end")
        event_store.commit("test", "test", changes=(again,))

    (shown,) = status.read(stage.paths, stage.clock()).plans
    listed = states(stage)
    told = {name: why.find(stage.paths, name).state for name in listed}

    assert listed == told == {"z": "deferred", "held": "held", "a": "triaged"}
    assert ([each.id for each in shown.events.deferred], [each.id for each in shown.events.held]) == (["z"], ["held"])
    assert (shown.events.triaged, shown.events.parked) == (1, ())
