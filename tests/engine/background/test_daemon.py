"""A daemon from its start to its end, as a real process."""

from __future__ import annotations

from datetime import timedelta

import pytest
from daemon_scene import Opener

from prloom.extensions.background.call_error import CallError

LIMIT = timedelta(seconds=10)


async def test_a_daemon_that_listens_and_answers_is_running_and_its_methods_can_be_called(scene: Opener):
    async with scene() as at:
        await at.until("running")

        assert await at.daemons.call("odd", "echo", {"text": "é"}, LIMIT) == {"text": "é"}


@pytest.mark.parametrize("mode", ["one-request", "no-newline"])
async def test_a_daemon_that_wants_a_connection_for_each_request_gets_it(scene: Opener, mode: str):
    async with scene(mode) as at:
        await at.until("running")

        assert [await at.daemons.call("odd", "echo", each, LIMIT) for each in (1, 2, 3)] == [1, 2, 3]


async def test_a_call_before_the_first_attempt_says_that_the_daemon_has_not_been_started(scene: Opener):
    async with scene() as at:
        with pytest.raises(CallError, match="'odd' has not been started") as caught:
            await at.daemons.call("odd", "echo", 1, LIMIT)

    assert caught.value.kind == "not_started"
