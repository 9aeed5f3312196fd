"""The commands that prloom names do what it says, whatever an event's id is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

import pytest
from command_line import Prloom
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author

pytestmark = pytest.mark.usefixtures("pr_7")


ODD_IDS = ["--parked", "-x", "@eve", "@@eve"]


def remedy(prloom: Prloom, event_id: str) -> Sequence[str]:
    """Return the words of the command that the status names for an event, without `prloom`."""
    needs = json.loads(prloom("status", "--json").out)["dashboard"]["needs"]
    (command,) = [need["commands"][0] for need in needs if event_id in need.get("ids", ())]
    assert command in prloom("status").out
    return shlex.split(command)[1:]


@pytest.mark.parametrize("event_id", ODD_IDS)
async def test_a_held_event_is_approved_by_the_command_that_the_status_names(
    stage: Stage, prloom: Prloom, event_id: str
) -> None:
    await stage.take_in(said(event_id, author=Author("mallory", "none")), said("other", author=Author("eve", "none")))

    ran = prloom(*remedy(prloom, event_id))

    assert ran.code == 0, ran.err
    assert {each: event["state"] for each, event in stage.open().items()} == {event_id: "pending", "other": "held"}


@pytest.mark.parametrize("event_id", ODD_IDS)
async def test_a_parked_event_is_retried_by_the_command_that_the_status_names(
    stage: Stage, prloom: Prloom, event_id: str
) -> None:
    stage.adopt("other", pr=8)
    stage.plugin("quiet", deferring())
    stage.append(said(event_id))
    await stage.take_in(said("other", author=Author("eve", "write")), plan_id="other")
    await stage.tick_after(days=8)

    ran = prloom(*remedy(prloom, event_id))

    assert ran.code == 0, ran.err
    assert (stage.open()[event_id]["state"], stage.open("other")["other"]["state"]) == ("pending", "parked")


async def test_one_at_sign_names_the_author_also_where_an_event_has_that_id(stage: Stage, prloom: Prloom) -> None:
    await stage.take_in(said("@eve", author=Author("mallory", "none")), said("hers", author=Author("eve", "none")))

    assert prloom("approve", "@eve").code == 0

    assert {each: event["state"] for each, event in stage.open().items()} == {"@eve": "held", "hers": "pending"}


async def test_what_is_named_by_an_odd_id_is_dropped_without_a_question(stage: Stage, prloom: Prloom) -> None:
    await stage.take_in(*(said(event_id, author=Author("mallory", "none")) for event_id in ODD_IDS))

    ran = prloom("drop", "--reason", "spam", "--", "--parked", "-x", "@@eve", "@@@eve")

    assert (ran.code, stage.open()) == (0, {})


async def test_the_command_that_acts_on_all_of_them_names_them_again(stage: Stage, prloom: Prloom) -> None:
    await stage.take_in(*(said(event_id, author=Author("eve", "none")) for event_id in ("-x", "y", "z")))
    ran = prloom("drop", "--reason", "-spam", "--", "@eve", "-x")
    words = shlex.split(ran.err.partition("run `")[2].rpartition("`")[0])[1:]

    assert (ran.code, prloom(*words).code, stage.open()) == (1, 0, {})
