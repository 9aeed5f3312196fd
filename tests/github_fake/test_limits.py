"""Limits: what a client may do, what it is told, and that one which does not listen is caught."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from fake_github import Hub, Rules

NOTES = "/issues/1/comments"


@pytest.fixture
def pr(hub):
    return hub.pull()


def write(api, pause: float = 1.0):
    """Post without the politeness."""
    answer = api.wire.post(api.full(NOTES), json={"body": "x"})
    api.clock.advance(seconds=pause)
    return answer


def test_every_answer_says_what_remains(api, pr):
    headers = api.get("/pulls").headers

    assert (headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]) == ("5000", "4999")
    assert headers["x-ratelimit-reset"] == "1767272400"
    assert headers["x-ratelimit-resource"] == "core"


@pytest.mark.parametrize("status", [403, 429])
def test_once_nothing_remains_everything_is_refused_until_the_reset(clock, signed_in, hub, status):
    hub.world.limits.rules = Rules(per_hour=3, status=status)
    api = signed_in()
    answers = [api.get("/pulls") for _ in range(4)]
    clock.advance(hours=1)

    assert [answer.status_code for answer in answers] == [200, 200, 200, status]
    assert answers[-1].headers["x-ratelimit-remaining"] == "0"
    assert "rate limit exceeded" in answers[-1].json()["message"]
    assert "nothing remains until 13:00:00" in hub.complaints[0]
    assert api.get("/pulls").status_code == 200


def test_a_304_is_given_although_little_remains(signed_in, hub):
    hub.world.limits.rules = Rules(per_hour=2)
    api = signed_in()
    tag = api.get("/pulls").headers["etag"]

    assert [api.get("/pulls", headers={"if-none-match": tag}).status_code for _ in range(5)] == [304] * 5


def test_two_writes_within_a_second_are_refused_and_complained_of(api, hub, pr):
    first, second = write(api, pause=0.5), write(api)

    assert (first.status_code, second.status_code) == (201, 403)
    assert second.headers["retry-after"] == "60"
    assert int(second.headers["x-ratelimit-remaining"]) > 0
    assert hub.complaints == ["POST /repos/ada/engine/issues/1/comments: a write 0.5 s after another"]
    assert len(hub.posts("prloom")) == 1


def test_a_client_that_comes_back_too_early_is_caught(api, hub, pr, clock):
    hub.slow_down("prloom", timedelta(seconds=30))
    refused = api.get("/pulls")
    clock.advance(seconds=29)
    again = api.get("/pulls")

    assert (refused.status_code, refused.headers["retry-after"]) == (403, "30")
    assert again.headers["retry-after"] == "1"
    assert hub.complaints == ["GET /repos/ada/engine/pulls: 0:00:01 before it may come back after a refusal"]


def test_a_refusal_may_not_say_for_how_long_and_then_a_minute_is_due(signed_in, hub, pr, clock):
    hub.world.limits.rules = Rules(retry_after=None, status=429)
    api = signed_in()
    refused = [write(api, pause=0), write(api, pause=0)][1]
    clock.advance(seconds=59)
    early = api.get("/pulls")
    clock.advance(seconds=1)

    assert (refused.status_code, "retry-after" in refused.headers) == (429, False)
    assert early.status_code == 429
    assert api.get("/pulls").status_code == 200


def test_no_more_than_eighty_writes_fit_into_a_minute(signed_in, hub, pr):
    hub.world.limits.rules = Rules(write_gap=timedelta(0), points_per_minute=10**6)
    api = signed_in()
    answers = [write(api, pause=0.5).status_code for _ in range(81)]

    assert answers == [201] * 80 + [403]
    assert "more than 80 writes in a minute" in hub.complaints[0]


def test_no_more_than_five_hundred_writes_fit_into_an_hour(api, hub, pr):
    answers = [write(api, pause=2).status_code for _ in range(501)]

    assert answers == [201] * 500 + [403]
    assert "more than 500 writes in an hour" in hub.complaints[0]


def test_writes_cost_five_points_and_reads_one(signed_in, hub, pr):
    hub.world.limits.rules = Rules(points_per_minute=11)
    api = signed_in()
    answers = [api.get("/pulls"), write(api), write(api), api.get("/pulls")]

    assert [answer.status_code for answer in answers] == [200, 201, 201, 403]
    assert "more than 11 points in a minute" in hub.complaints[0]


async def test_requests_at_once_are_refused(clock):
    hub = Hub(clock)
    async with hub.client(hub.token("ada")) as client:
        answers = await asyncio.gather(*(client.get("/repos/ada/engine/pulls") for _ in range(2)))

    assert sorted(answer.status_code for answer in answers) == [403, 403]
    assert "2 requests at once" in hub.complaints[0]


def test_a_resolved_thread_is_a_write_and_a_query_is_not(api, hub, pr):
    resolve = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { clientMutationId } }"
    api.graphql("{ viewer { login } }")
    api.clock.now -= timedelta(seconds=1)
    api.graphql(resolve, id=f"PRRT_{hub.inline(pr, 'ann', 'Why?').thread.id}")
    api.clock.now -= timedelta(seconds=1)

    assert write(api).status_code == 403
