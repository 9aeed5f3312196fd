"""Acknowledgements: a quick sign that somebody was heard, once, after everything else, and nobody's trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fake_clock import NOON
from stage import ListBridge, Stage, said

from prloom.api import Action, Author, Comment, Event, React, Refused
from prloom.core.events.acknowledgements import IN_A_MINUTE, MOST_WAITING
from prloom.engine.operator import offline
from prloom.engine.views import status, why
from prloom.model import record
from prloom.model.record import Timestamp

FRIEND, STRANGER = Author("ann", "write"), Author("eve", "none")
JUST_NOW = record.iso(NOON - timedelta(minutes=1))


class Signing(ListBridge):
    """A source that takes signs."""

    sign: Callable[[Event], Any] = staticmethod(lambda event: React("eyes"))

    def acknowledgement(self, event: Event) -> React | None:
        return self.sign(event)

    @property
    def sent(self) -> list[str]:
        """What was sent, in order: the words of a comment, the name of a reaction."""
        payloads = [action.payload for action in self.actions_seen]
        return [str(getattr(payload, "message", getattr(payload, "reaction", ""))) for payload in payloads]

    @property
    def signs(self) -> list[Action]:
        return [action for action in self.actions_seen if isinstance(action.payload, React)]


@pytest.fixture
def source(stage: Stage) -> Signing:
    stage.bridge = source = Signing()
    stage.bridges = [source]
    return source


def wrote(event_id: str, author: Author | None = FRIEND, **fields: Any) -> Event:
    return said(event_id, **{"author": author, "created_at": JUST_NOW, **fields})


def shown(stage: Stage) -> Mapping[str, Any]:
    """Return the part of the plan in the status document."""
    (plan,) = status.read(stage.paths, stage.clock()).plans
    return dict(record.to_wire(plan))


async def test_what_a_trusted_person_writes_is_acknowledged_once_at_the_place_where_it_stands(
    stage: Stage, source: Signing, pr_7: Path
):
    await stage.poll(wrote("a"))
    await stage.tick()

    (sign,) = source.signs
    assert sign.payload == React("eyes")
    assert sign.target == wrote("a").reply_to
    assert sign.related_event_id == "a"


async def test_it_is_in_the_record_that_lets_the_event_in(stage: Stage, source: Signing, pr_7: Path):
    await stage.poll(wrote("a"))

    (decision,) = [each for each in stage.decisions() if each["stage"] == "intake"]
    assert [change["state"] for change in decision["changes"]] == ["pending"]
    assert decision["courtesies"] == [action["id"] for action in decision["actions"]]


@pytest.mark.parametrize(
    "event",
    [
        wrote("a", STRANGER),
        wrote("a", None),
        wrote("a", Author("coverage", "write", bot=True)),
        wrote("a", body=" \n"),
        wrote("a", reply_to=None),
        wrote("a", created_at=None),
        wrote("a", created_at="yesterday"),
        wrote("a", created_at=record.iso(NOON - timedelta(hours=1, minutes=1))),
    ],
    ids=["stranger", "nobody", "bot", "wordless", "nowhere", "no time", "no such time", "old"],
)
async def test_nothing_else_is_acknowledged(stage: Stage, source: Signing, event: Event, pr_7: Path):
    await stage.poll(event)

    assert source.signs == []


async def test_a_first_look_at_an_old_conversation_acknowledges_nothing_of_it(stage: Stage, source: Signing):
    stage.adopt(created_at=Timestamp.of(NOON - timedelta(seconds=30)))
    source.news = [wrote(f"old-{number}") for number in range(30)]
    source.news.append(wrote("new", created_at=record.iso(NOON)))

    await stage.tick()

    assert [sign.related_event_id for sign in source.signs] == ["new"]


@pytest.mark.parametrize("ahead", [timedelta(hours=hours) for hours in (8, -8)], ids=str)
async def test_what_is_recent_is_told_by_the_clock_of_the_forge(stage: Stage, source: Signing, ahead: timedelta):
    stage.adopt(created_at=Timestamp.of(NOON - timedelta(minutes=30)))
    source.now = lambda: stage.clock() + ahead
    at = {"before": 40, "since": 20}
    source.news = [
        wrote(name, created_at=record.iso(NOON + ahead - timedelta(minutes=minutes))) for name, minutes in at.items()
    ]

    await stage.tick()

    assert [sign.related_event_id for sign in source.signs] == ["since"]


def broken(event: Event) -> Any:
    raise SystemExit(event.id)


@pytest.mark.parametrize(
    "sign", [lambda event: None, broken, lambda event: Comment("me too")], ids=["none", "a failure", "no reaction"]
)
async def test_a_bridge_that_gives_no_reaction_for_a_sign_keeps_nothing_from_being_taken_in(
    stage: Stage, source: Signing, sign: Callable[[Event], Any], pr_7: Path
):
    source.sign = sign

    await stage.poll(wrote("a"))

    assert source.sent == ["re a"]


async def test_an_author_who_had_to_be_looked_up_is_acknowledged_when_that_is_known(stage: Stage, source: Signing):
    stage.adopt()
    await stage.poll(wrote("a", Author("ann")))
    assert stage.open()["a"]["state"] == "held"
    assert source.signs == []

    source.permissions = {"ann": "write"}
    await stage.tick_after(minutes=1)

    assert [sign.related_event_id for sign in source.signs] == ["a"]


async def test_a_held_comment_is_acknowledged_when_somebody_vouches_for_it_on_the_pull_request(
    stage: Stage, source: Signing, pr_7: Path
):
    await stage.poll(wrote("a", STRANGER))
    source.news.append(wrote("b", body="/prloom approve", created_at=record.iso(NOON)))

    await stage.tick()

    assert sorted(str(sign.related_event_id) for sign in source.signs) == ["a", "b"]


@pytest.mark.parametrize("running", [True, False], ids=["by the dispatcher", "without one"])
async def test_a_held_comment_is_acknowledged_when_the_operator_approves_it(
    stage: Stage, source: Signing, *, running: bool, pr_7: Path
):
    stage.configure('[outbox]\nothers = "auto"\n')
    await stage.poll(wrote("a", STRANGER))
    stage.ask("approve", "a")
    if not running:
        assert offline.carry_out(stage.paths, stage.clock) is None

    await stage.tick_after(days=3)

    assert len(source.signs) == running  # three days later, without one, it is none any more
    assert stage.state()["queue"] == {}


async def test_an_edit_is_not_acknowledged_again(stage: Stage, source: Signing, pr_7: Path):
    await stage.poll(wrote("a"))
    source.news.append(wrote("a2", context={"supersedes": "a", "updatedAt": record.iso(NOON)}))

    await stage.tick()

    assert [sign.related_event_id for sign in source.signs] == ["a"]


async def test_replies_go_before_acknowledgements_of_any_plan(stage: Stage, source: Signing, pr_7: Path):
    stage.adopt("pr-8", pr=8)
    both = asyncio.Event()

    async def meet(what: str) -> None:
        """Let nothing arrive before each plan has a reply on its way."""
        if source.sent.count("re a0") + source.sent.count("re b0") == 2:
            both.set()
        if what == "actions":
            await asyncio.wait_for(both.wait(), 60)

    source.waits = meet
    source.news = [wrote(f"a{number}") for number in range(5)] + [wrote(f"b{number}", pr=8) for number in range(5)]

    await stage.tick()

    assert source.sent[0] == "eyes"  # it was on its way already
    assert "eyes" not in source.sent[1:11]
    assert source.sent[11:] == ["eyes"] * (2 * MOST_WAITING - 1)


async def test_of_a_burst_the_latest_few_are_acknowledged_and_all_are_answered(stage: Stage, source: Signing):
    stage.adopt()
    source.news = [wrote(f"a{number}") for number in range(30)]

    await stage.tick()

    assert [sign.related_event_id for sign in source.signs] == [f"a{number}" for number in range(30)][-MOST_WAITING:]
    assert source.sent.count("eyes") == len(source.sent) - 30


async def test_of_many_that_are_approved_at_once_the_latest_few_are_acknowledged(stage: Stage, source: Signing):
    stage.adopt()
    source.news = [wrote(f"a{number}", STRANGER) for number in range(20)]
    await stage.tick()
    source.news.append(wrote("b", body="/prloom approve", created_at=record.iso(NOON)))

    await stage.tick()

    approved = [sign.related_event_id for sign in source.signs if sign.related_event_id != "b"]
    assert 0 < len(approved) <= MOST_WAITING


async def test_what_a_bridge_may_write_is_not_used_up_by_acknowledgements_of_many_plans(stage: Stage, source: Signing):
    for number in range(1, 7):
        stage.adopt(f"pr-{number}", pr=number)
    source.news = [wrote(f"a{number}-{each}", pr=number) for number in range(1, 7) for each in range(MOST_WAITING)]

    await stage.tick()

    assert len(source.signs) == IN_A_MINUTE
    assert source.sent.count("eyes") == len(source.sent) - 6 * MOST_WAITING
    assert all(stage.state(f"pr-{number}")["queue"] == {} for number in range(1, 7))
    life = why.document(why.find(stage.paths, "a6-2"))
    assert [step.reason for step in life.steps if step.verdict == "dropped"] == ["too many acknowledgements at once"]


async def test_one_that_is_refused_is_nobodys_trouble_and_told_by_why_only(
    stage: Stage, source: Signing, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    source.refuse = lambda action: Refused("locked") if isinstance(action.payload, React) else None

    await stage.poll(wrote("a"))

    assert stage.state()["queue"] == {}
    assert shown(stage)["actions"] == {"queued": 0, "delivered": 1, "failed": ()}
    life = why.document(why.find(stage.paths, "a"))
    assert [(step.verdict, step.reason) for step in life.steps if step.verdict == "dropped"] == [("dropped", "locked")]
    assert "locked" not in caplog.text


async def test_one_that_cannot_be_delivered_within_the_hour_is_dropped(stage: Stage, source: Signing, pr_7: Path):
    busy = Refused("busy", retryable=True, retry_after=timedelta(minutes=50))
    source.refuse = lambda action: busy if isinstance(action.payload, React) else None
    await stage.poll(wrote("a"))
    (waiting,) = stage.state()["queue"].values()
    assert waiting["courtesy"] is True
    assert shown(stage)["actions"]["queued"] == 0

    for _ in range(2):
        await stage.tick_after(minutes=50)

    assert stage.state()["queue"] == {}
    assert len(source.signs) == 2
    assert "too late" in json.dumps(stage.decisions()[-1])


async def test_one_that_no_bridge_can_deliver_any_more_is_dropped(stage: Stage, source: Signing, pr_7: Path):
    source.refuse = lambda action: Refused("busy", retryable=True)
    await stage.poll(wrote("a"))
    source.targets = ()

    await stage.tick_after(minutes=1)

    (left,) = stage.state()["queue"].values()
    assert left["failed"] is True
    assert "courtesy" not in left


async def test_what_a_plugin_emits_after_it_has_an_id_of_its_own(stage: Stage, source: Signing, pr_7: Path):
    await stage.poll(wrote("a", body="/prloom help"))

    ids = [action.id for action in source.actions_seen]
    assert len(set(ids)) == len(ids) == 2
    assert shown(stage)["actions"]["delivered"] == 1
