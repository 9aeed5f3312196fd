"""Which posts the token's own account wrote: prloom knows by that what it has said itself."""

from __future__ import annotations

from typing import Any

import pytest
from fake_github import BAD_GATEWAY

from prloom.api import Comment, Event, HttpError, marker
from prloom.core.marker import action_id

OURS = f"{marker(action_id('an event', 'triage', 0))}\n\nDone."


def own(events: list[Event]) -> dict[str, bool]:
    return {f"{event.author.login}: {event.body.split()[-1]}": event.own_account for event in events if event.author}


async def test_what_the_tokens_account_wrote_with_a_marker_is_told_to_be_its_own_wherever_it_stands(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.hub.comment(pull, "ada", f"{OURS} one")
    desk.hub.inline(pull, "ada", f"{OURS} two")
    desk.hub.review(pull, "ada", "COMMENTED", f"{OURS} three")
    desk.hub.comment(pull, "ann", f"{OURS} four")
    desk.hub.comment(pull, "ada", f"> {OURS} five")
    desk.hub.comment(pull, "ada", "six")
    desk.track(pull)

    events = await desk.poll()

    assert own(events) == {
        "ada: one": True,
        "ada: two": True,
        "ada: three": True,
        "ann: four": False,
        "ada: five": False,
        "ada: six": False,
    }


async def test_whose_the_token_is_is_asked_once_and_only_when_a_marker_is_seen(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    desk.hub.comment(pull, "ann", "hello")
    await desk.poll()
    before = desk.requests()
    for _ in range(2):
        desk.hub.comment(pull, "ada", OURS)
        await desk.poll()

    assert not any("/user" in asked for asked in before)
    assert len([asked for asked in desk.requests() if asked.startswith("GET /user")]) == 1


@pytest.mark.parametrize("first_sight", [True, False])
async def test_a_poll_that_cannot_tell_whose_the_token_is_loses_nothing(desk: Any, *, first_sight: bool) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    if not first_sight:
        await desk.poll()
    desk.hub.review(pull, "ann", "COMMENTED", f"{OURS} review")
    desk.hub.before_next(BAD_GATEWAY, on="GET /user", times=9)
    told: list[Event] = []
    for _ in range(12):
        try:
            told += await desk.poll()
        except HttpError:
            continue

    assert [event.body for event in told if event.type == "pr_review"] == [f"{OURS} review"]


async def test_a_reply_that_comes_back_is_told_to_be_the_accounts_own(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    await desk.poll()

    await desk.act(None, Comment("Done."))

    (event,) = await desk.poll()
    assert event.own_account


async def renew_token(desk: Any, login: str) -> None:
    """Let the client go on with another account's token, as the host does after a 401."""
    desk.client.renew(desk.hub.token(login))


async def test_a_token_that_was_renewed_may_be_another_accounts(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    desk.hub.comment(pull, "ada", f"{OURS} one")
    await desk.poll()
    await renew_token(desk, "ann")
    desk.hub.comment(pull, "ann", f"{OURS} two")

    assert own(await desk.poll()) == {"ann: two": True}


async def test_a_post_by_a_renewed_token_is_found_again_and_not_repeated(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    desk.hub.comment(pull, "ada", f"{OURS} one")
    await desk.poll()
    await renew_token(desk, "ann")
    await desk.poll()
    await desk.say(None, "once")

    await desk.say(None, "once", uncertain=True)

    assert len([event for event in await desk.poll() if "once" in event.body]) == 1


async def test_strangers_who_write_markers_cost_one_request_in_a_poll(desk: Any) -> None:
    pulls = [desk.hub.pull() for _ in range(3)]
    desk.track(*pulls)
    for pull in pulls:
        desk.hub.comment(pull, "eve", OURS)
    await desk.poll()

    assert len([asked for asked in desk.requests() if asked.startswith("GET /user")]) == 1
