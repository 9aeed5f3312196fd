"""A box that a person ticks in the cockpit is reported once, as the command of who edited the text last."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_github import BAD_GATEWAY
from fake_github.exchange import Response

from prloom.api import Event, marker
from prloom.core.pull_requests.cockpit import CockpitView, render

COCKPIT = render(CockpitView(text="Why.", boxes=("pause", "retry", "rebase")))
MARKER = marker("a-" + "0" * 20)


def tick(text: str, *boxes: str) -> str:
    """Return a text with these boxes ticked."""
    lines = text.split("\n")
    return "\n".join(
        line.replace("[ ]", "[x]") if any(f"prloom:box {box} " in line for box in boxes) else line for line in lines
    )


@pytest.fixture
async def described(runtime: Any) -> Any:
    """A tracked pull request that prloom described, and that was polled."""
    pull = runtime.hub.pull(by="ada", body=f"Mine.\n\n{COCKPIT}")
    runtime.track(pull)
    await runtime.poll()
    runtime.requests()
    return pull


def commands(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.author.login, event.body) for event in events if event.type == "box_ticked" and event.author]


async def test_a_box_is_the_command_of_the_person_who_ticked_it(runtime: Any, described: Any) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="ann")
    (event,) = await runtime.poll()

    assert (event.type, event.body, event.author.login, event.pr) == ("box_ticked", "/prloom pause", "ann", 1)
    assert (event.title, event.context["box"], event.reply_to.token) == ("ann ticked pause", "pause", {"pr": 1})


async def test_a_box_is_reported_once_however_long_it_is_ticked(runtime: Any, described: Any) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="ann")
    found = commands(await runtime.poll())
    runtime.hub.label(described, "prloom")
    runtime.requests()
    again = commands(await runtime.poll())

    assert (found, again) == ([("ann", "/prloom pause")], [])
    assert not [asked for asked in runtime.requests() if "graphql" in asked]


async def test_the_boxes_that_are_ticked_and_reported_are_told_with_each_poll(runtime: Any, described: Any) -> None:
    before = await runtime.bridge.events(runtime.context(), runtime.state)
    runtime.hub.edit(described, tick(described.body, "pause", "retry"), by="ann")
    await runtime.poll()
    ticked = await runtime.bridge.events(runtime.context(), runtime.state)
    runtime.clock.advance(minutes=1)
    runtime.hub.edit(described, f"Mine.\n\n{COCKPIT}", by="ada")
    await runtime.poll()
    cleared = await runtime.bridge.events(runtime.context(), runtime.state)

    assert [each.ticked for each in (before, ticked, cleared)] == [{}, {1: ("pause", "retry")}, {}]


async def test_a_box_that_was_cleared_and_is_ticked_again_is_another_command(runtime: Any, described: Any) -> None:
    said = []
    for login in ("ann", "eve"):
        runtime.hub.edit(described, tick(described.body, "pause"), by=login)
        said += commands(await runtime.poll())
        runtime.hub.edit(described, f"Mine.\n\n{COCKPIT}", by="ada")
        said += commands(await runtime.poll())

    assert said == [("ann", "/prloom pause"), ("eve", "/prloom pause")]


async def test_one_more_box_is_one_more_command(runtime: Any, described: Any) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="ann")
    first = commands(await runtime.poll())
    runtime.hub.edit(described, tick(described.body, "rebase"), by="eve")
    second = commands(await runtime.poll())

    assert (first, second) == ([("ann", "/prloom pause")], [("eve", "/prloom rebase")])


async def test_a_box_whose_editor_could_not_be_asked_for_is_reported_with_a_later_poll(
    runtime: Any, described: Any
) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="ann")
    runtime.hub.before_next(BAD_GATEWAY, on="POST *", times=9)
    failed = commands(await runtime.poll())
    runtime.hub.api.script.triggers.clear()

    assert failed == []
    assert commands(await runtime.poll()) == [("ann", "/prloom pause")]


@pytest.mark.parametrize("body", [{}, None, {"data": None}, {"data": {}}, {"data": {"node": None}}], ids=str)
async def test_a_box_is_reported_by_the_next_poll_if_the_answer_does_not_name_its_editor(
    runtime: Any, described: Any, body: Any
) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="ann")
    shown = Response(200, {"content-type": "application/json; charset=utf-8"}, json.dumps(body).encode())
    runtime.hub.before_next(shown, on="POST /graphql")

    first, second = commands(await runtime.poll()), commands(await runtime.poll())

    assert (first, second) == ([], [("ann", "/prloom pause")])


async def test_a_box_that_is_cleared_before_its_editor_is_asked_for_is_no_command(runtime: Any, described: Any) -> None:
    body = described.body
    runtime.hub.edit(described, tick(body, "pause"), by="ann")
    runtime.hub.before_next(lambda: runtime.hub.edit(described, body, by="ann"), on="POST *")

    assert commands(await runtime.poll()) == []
    assert commands(await runtime.poll()) == []


async def test_a_box_that_a_bot_ticked_is_a_bots(runtime: Any, described: Any) -> None:
    runtime.hub.bot("helper[bot]")
    runtime.hub.edit(described, tick(described.body, "pause"), by="helper[bot]")
    (event,) = await runtime.poll()

    assert (event.author.login, event.author.bot) == ("helper[bot]", True)


async def test_an_editor_whose_account_is_gone_is_a_ghost_and_not_the_author(runtime: Any, described: Any) -> None:
    runtime.hub.edit(described, tick(described.body, "pause"), by="bob")
    runtime.hub.forget("bob")
    (event,) = await runtime.poll()

    assert event.author.login == "ghost"


async def test_a_box_in_prlooms_own_comment_is_a_command(runtime: Any) -> None:
    runtime.cockpit = MARKER
    runtime.track(runtime.hub.pull(by="eve"))
    await runtime.poll()
    await runtime.bridge.upsert_comment(runtime.context(), 1, marker=MARKER, body=COCKPIT)
    await runtime.poll()
    (comment,) = runtime.hub.posts("ada")
    runtime.hub.edit(comment, tick(comment.body, "retry"), by="ann")

    assert commands(await runtime.poll()) == [("ann", "/prloom retry")]
    assert commands(await runtime.poll()) == []


async def test_a_box_in_another_persons_comment_or_pull_request_is_none(runtime: Any, described: Any) -> None:
    runtime.hub.comment(described, "eve", tick(f"{MARKER}\n{COCKPIT}", "pause"))
    runtime.hub.pull(by="eve", body=tick(COCKPIT, "pause"))

    assert commands(await runtime.poll()) == []


async def test_a_box_in_the_description_of_an_adopted_pull_request_is_text(runtime: Any) -> None:
    runtime.cockpit = MARKER
    pull = runtime.hub.pull(by="ann", body=tick(COCKPIT, "rebase"))
    runtime.track(pull)

    assert commands(await runtime.poll()) == []
    runtime.hub.edit(pull, tick(COCKPIT, "pause"), by="ann")
    assert commands(await runtime.poll()) == []
    assert (await runtime.bridge.events(runtime.context(), runtime.state)).ticked == {}


@pytest.mark.parametrize("begin", ["", "See also:\n", f"{marker('a-' + '1' * 20)}\n"])
async def test_a_box_in_an_own_comment_that_is_not_the_cockpit_of_the_plan_is_text(runtime: Any, begin: str) -> None:
    runtime.cockpit = MARKER
    pull = runtime.hub.pull(by="ann")
    runtime.track(pull)
    await runtime.poll()
    runtime.hub.comment(pull, "ada", begin + tick(COCKPIT, "rebase"))

    assert commands(await runtime.poll()) == []


async def test_a_box_in_a_comment_is_text_where_the_cockpit_is_in_the_description(runtime: Any, described: Any) -> None:
    runtime.hub.comment(described, "ada", tick(f"{MARKER}\n{COCKPIT}", "rebase"))

    assert commands(await runtime.poll()) == []


async def test_a_box_that_was_ticked_before_the_first_poll_is_a_command(runtime: Any) -> None:
    pull = runtime.hub.pull(by="ada", body=COCKPIT)
    runtime.hub.edit(pull, tick(COCKPIT, "pause"), by="ann")
    runtime.track(pull)

    assert commands(await runtime.poll()) == [("ann", "/prloom pause")]
