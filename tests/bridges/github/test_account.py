"""Which posts the token's own account wrote: prloom knows by that what it has said itself."""

from __future__ import annotations

from typing import Any

import pytest
from fake_github import BAD_GATEWAY

from prloom.api import Event, HttpError, marker
from prloom.core.delivery.outbox import action_id

OURS = f"{marker(action_id('an event', 'triage', 0))}\n\nDone."


def own(events: list[Event]) -> dict[str, bool]:
    return {f"{event.author.login}: {event.body.split()[-1]}": event.own_account for event in events if event.author}


async def test_what_the_tokens_account_wrote_with_a_marker_is_marked_as_its_own_wherever_it_is(
    runtime: Any,
) -> None:
    pull = runtime.hub.pull()
    runtime.hub.comment(pull, "ada", f"{OURS} one")
    runtime.hub.inline(pull, "ada", f"{OURS} two")
    runtime.hub.review(pull, "ada", "COMMENTED", f"{OURS} three")
    runtime.hub.comment(pull, "ann", f"{OURS} four")
    runtime.hub.comment(pull, "ada", f"> {OURS} five")
    runtime.hub.comment(pull, "ada", "six")
    runtime.track(pull)

    events = await runtime.poll()

    assert own(events) == {
        "ada: one": True,
        "ada: two": True,
        "ada: three": True,
        "ann: four": False,
        "ada: five": False,
        "ada: six": False,
    }


async def test_whose_the_token_is_is_requested_once_and_only_when_a_marker_is_seen(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.comment(pull, "ann", "hello")
    await runtime.poll()
    before = runtime.requests()
    for _ in range(2):
        runtime.hub.comment(pull, "ada", OURS)
        await runtime.poll()

    assert not any("/user" in asked for asked in before)
    assert len([asked for asked in runtime.requests() if asked.startswith("GET /user")]) == 1


@pytest.mark.parametrize("first_sight", [True, False])
async def test_a_poll_that_cannot_find_out_whose_the_token_is_loses_nothing(runtime: Any, *, first_sight: bool) -> None:
    pull = runtime.hub.pull()
    runtime.track(pull)
    if not first_sight:
        await runtime.poll()
    runtime.hub.review(pull, "ann", "COMMENTED", f"{OURS} review")
    runtime.hub.before_next(BAD_GATEWAY, on="GET /user", times=9)
    told: list[Event] = []
    for _ in range(12):
        try:
            told += await runtime.poll()
        except HttpError:
            continue

    assert [event.body for event in told if event.type == "pr_review"] == [f"{OURS} review"]


async def renew_token(runtime: Any, login: str) -> None:
    """Let the client go on with another account's token, as the host does after a 401."""
    runtime.client.renew(runtime.hub.token(login))


async def test_a_token_that_was_renewed_may_be_another_accounts(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.comment(pull, "ada", f"{OURS} one")
    await runtime.poll()
    await renew_token(runtime, "ann")
    runtime.hub.comment(pull, "ann", f"{OURS} two")

    assert own(await runtime.poll()) == {"ann: two": True}


async def test_a_post_by_a_renewed_token_is_found_again_and_not_repeated(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.comment(pull, "ada", f"{OURS} one")
    await runtime.poll()
    await renew_token(runtime, "ann")
    await runtime.poll()
    await runtime.say(None, "once")

    await runtime.say(None, "once", uncertain=True)

    assert len([event for event in await runtime.poll() if "once" in event.body]) == 1


async def test_strangers_who_write_markers_cost_one_request_in_a_poll(runtime: Any) -> None:
    pulls = [runtime.hub.pull() for _ in range(3)]
    runtime.track(*pulls)
    for pull in pulls:
        runtime.hub.comment(pull, "eve", OURS)
    await runtime.poll()

    assert len([asked for asked in runtime.requests() if asked.startswith("GET /user")]) == 1
