"""An answer of 200 that is not what was requested counts neither as an empty list nor as success."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_github.exchange import Response

from prloom.api import (
    AddLabels,
    AssignUsers,
    ClosePr,
    Comment,
    Delivered,
    Event,
    HttpError,
    InlineComment,
    Merge,
    Payload,
    React,
    Refused,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
)

SHAPES = [{}, None, "x", {"message": "Server Error"}, [None], [{}]]


def ok(body: Any) -> Response:
    """Return an answer of 200 with this body, whatever was requested."""
    return Response(200, {"content-type": "application/json; charset=utf-8"}, json.dumps(body).encode())


@pytest.fixture
def pull(runtime: Any) -> Any:
    """A pull request that is looked after."""
    made = runtime.hub.pull()
    runtime.track(made)
    return made


def bodies(events: list[Event]) -> list[str]:
    return [event.body for event in events]


# ---- what is read


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
@pytest.mark.parametrize("part", ["issues/1/comments", "pulls/1/comments", "pulls/1/reviews", "pulls/1"])
async def test_what_was_written_before_is_read_by_the_poll_after_such_an_answer(
    runtime: Any, pull: Any, shape: Any, part: str
) -> None:
    runtime.hub.comment(pull, "ann", "a comment")
    runtime.hub.inline(pull, "ann", "a line")
    runtime.hub.review(pull, "ann", "COMMENTED", "a review")
    runtime.clock.advance(hours=10)
    runtime.hub.before_next(ok(shape), on=f"GET */{part}")

    first, second = await runtime.poll(), await runtime.poll()

    assert (bodies(first), sorted(bodies(second))) == ([], ["a comment", "a line", "a review"])


async def test_a_poll_says_which_answer_it_could_not_use(
    runtime: Any, pull: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for shape in ({"message": "Server Error"}, [None]):
        runtime.hub.before_next(ok(shape), on="GET */issues/1/comments")
        await runtime.poll()

    assert [record.getMessage() for record in caplog.records] == [
        "the next poll reads #1 again: /repos/ada/engine/issues/1/comments: the answer is not a list: Server Error",
        (
            "the next poll reads #1 again: /repos/ada/engine/issues/1/comments: "
            "the answer is a list with items that have no id"
        ),
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
@pytest.mark.parametrize("part", ["pulls", "issues/comments", "pulls/comments"])
async def test_a_list_of_all_that_is_no_list_is_read_by_the_next_poll(
    runtime: Any, pull: Any, shape: Any, part: str
) -> None:
    await runtime.poll()
    runtime.hub.comment(pull, "ann", "a comment")
    runtime.hub.inline(pull, "ann", "a line")
    runtime.hub.before_next(ok(shape), on=f"GET */{part}")

    with pytest.raises(HttpError, match=f"/{part}: the answer is"):
        await runtime.poll()
    assert sorted(bodies(await runtime.poll())) == ["a comment", "a line"]


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
async def test_checks_in_such_an_answer_are_read_by_the_next_poll(runtime: Any, pull: Any, shape: Any) -> None:
    runtime.hub.check(pull, "tests", "failure", log="boom")
    runtime.hub.before_next(ok(shape), on="GET */check-runs")

    first, second = await runtime.poll(), await runtime.poll()

    assert [[event.type for event in events] for events in (first, second)] == [[], ["check_failed"]]


async def test_a_pull_request_that_is_answered_as_another_one_stops_no_other(
    runtime: Any, pull: Any, caplog: pytest.LogCaptureFixture
) -> None:
    other = runtime.hub.pull()
    runtime.track(other)
    await runtime.poll()
    runtime.hub.push(pull)
    runtime.hub.comment(other, "ann", "hello")
    shown = (await runtime.client.request("GET", "repos/ada/engine/pulls/2")).json()
    runtime.hub.before_next(ok({**shown, "number": 9}), on="GET */pulls/1")

    events = await runtime.poll()

    assert "hello" in bodies(events)
    assert [record.getMessage() for record in caplog.records] == [
        "the next poll reads #1 again: /repos/ada/engine/pulls/1: the answer is #9, another pull request than #1"
    ]


@pytest.mark.parametrize("shape", [{}, None, []], ids=json.dumps)
async def test_a_permission_that_an_answer_does_not_say_is_not_known(runtime: Any, pull: Any, shape: Any) -> None:
    runtime.hub.before_next(ok(shape), on="GET */permission")

    with pytest.raises(HttpError, match="/permission: the answer does not say the permission"):
        await runtime.bridge.permission(runtime.context(), "ann")


async def test_a_pull_request_is_not_called_missing_where_an_answer_does_not_show_the_repository(runtime: Any) -> None:
    runtime.hub.before_next(ok({}), on="GET /repos/ada/engine")

    with pytest.raises(HttpError, match="/repos/ada/engine: the answer has no id"):
        await runtime.bridge.pull_request(runtime.context(), 99)


async def test_an_account_that_an_answer_does_not_name_is_nobodys_guess(runtime: Any, pull: Any) -> None:
    await runtime.say(None)
    runtime.hub.before_next(ok({}), on="GET /user")

    with pytest.raises(HttpError, match="/user: the answer does not name the account of the token"):
        await runtime.poll()
    assert [event.context.get("ownAccount") for event in await runtime.poll()] == [True]


# ---- what is done


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
async def test_p3_a_search_that_such_an_answer_ends_finds_the_post_the_next_time(
    runtime: Any, pull: Any, shape: Any
) -> None:
    await runtime.say(None)
    runtime.hub.before_next(ok(shape), on="GET */issues/1/comments")

    results = [await runtime.say(None, uncertain=True) for _ in range(2)]

    assert [type(result) for result in results] == [Refused, Delivered]
    assert (results[0].retryable, results[0].unknown) == (True, True)
    assert len(runtime.hub.posts("ada")) == 1


WRITES = [
    (Comment("Done."), "POST */issues/1/comments"),
    (InlineComment("src/engine.py", 3, "Done."), "POST */pulls/1/comments"),
    (Review("comment", "Fine."), "POST */pulls/1/reviews"),
    (AddLabels(("bug",)), "POST */labels"),
    (RemoveLabels(("bug",)), "DELETE */labels/bug"),
    (AssignUsers(("ann",)), "POST */assignees"),
    (RequestReviewers(("eve",)), "POST */requested_reviewers"),
    (SetMilestone("1.0"), "PATCH */issues/1"),
    (SetMilestone("1.0"), "GET */milestones"),
    (React("eyes"), "POST */reactions"),
    (ClosePr(), "PATCH */pulls/1"),
    (Merge("merge"), "GET */pulls/1"),
    (Merge("merge"), "PUT */merge"),
]


@pytest.mark.parametrize("shape", [{}, None, {"message": "Server Error"}], ids=json.dumps)
@pytest.mark.parametrize(("payload", "of"), WRITES, ids=[of for _, of in WRITES])
async def test_p3_an_action_that_is_answered_so_may_have_been_done_or_not(
    runtime: Any, pull: Any, payload: Payload, of: str, shape: Any
) -> None:
    runtime.hub.milestone("1.0")
    runtime.hub.label(pull, "bug")
    runtime.clock.advance(minutes=1)
    runtime.hub.before_next(ok(shape), on=of)

    first, second = [await runtime.act(None, payload, uncertain=uncertain) for uncertain in (False, True)]

    assert (first.retryable, first.unknown, ": the answer " in first.error) == (True, True, True)
    assert isinstance(second, Delivered)


@pytest.mark.parametrize("shape", [{}, {"data": None}, {"data": {"repository": None}}], ids=json.dumps)
@pytest.mark.parametrize("skip", [0, 1], ids=["search", "resolve"])
async def test_a_thread_is_not_resolved_by_such_an_answer(runtime: Any, pull: Any, shape: Any, skip: int) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    (event,) = await runtime.poll()
    runtime.hub.before_next(ok(shape), on="POST /graphql", skip=skip)

    first, second = [await runtime.act(event.reply_to, ResolveThread()) for _ in range(2)]

    assert (first.retryable, second) == (True, Delivered())
    assert root.thread.resolved_by is not None


async def test_a_draft_is_looked_for_until_github_says_what_the_review_is(runtime: Any, pull: Any) -> None:
    runtime.hub.inline(pull, "ann", "why?")
    (event,) = await runtime.poll()
    runtime.hub.before_next(ok({}), on="GET */pulls/1/reviews/*")

    result = await runtime.say(event.reply_to)

    assert (result.retryable, result.unknown) == (True, True)


# ---- pull requests and comments that prloom writes


@pytest.mark.parametrize("shape", [{}, None, {"message": "Server Error"}], ids=json.dumps)
async def test_a_pull_request_that_such_an_answer_opened_is_searched_for(runtime: Any, shape: Any) -> None:
    runtime.hub.branch("topic")
    wanted = {"branch": "topic", "base": "main", "title": "A topic", "body": "Why.", "draft": True}
    runtime.hub.after_next(ok(shape), on="POST */pulls")

    opened = await runtime.bridge.open_pull_request(runtime.context(), **wanted)

    assert opened.number == 1


@pytest.mark.parametrize("shape", [{}, None, {"message": "Server Error"}], ids=json.dumps)
@pytest.mark.parametrize(
    ("of", "call"),
    [
        ("GET */pulls/1", lambda bridge, ctx: bridge.describe_pull_request(ctx, 1, body="New.", expected="Old.")),
        ("PATCH */pulls/1", lambda bridge, ctx: bridge.describe_pull_request(ctx, 1, body="New.")),
        ("GET */pulls/1", lambda bridge, ctx: bridge.mark_ready(ctx, 1)),
        ("POST /graphql", lambda bridge, ctx: bridge.mark_ready(ctx, 1)),
        ("GET */pulls/1", lambda bridge, ctx: bridge.pull_request(ctx, 1)),
        ("GET */issues/1", lambda bridge, ctx: bridge.read_issue(ctx, 1)),
        ("GET */pulls", lambda bridge, ctx: bridge.open_pull_requests(ctx)),
        ("GET */pulls", lambda bridge, ctx: bridge.find_pull_request(ctx, "topic")),
        ("GET */comments", lambda bridge, ctx: bridge.upsert_comment(ctx, 1, marker="<!-- m -->", body="x")),
        ("POST */comments", lambda bridge, ctx: bridge.upsert_comment(ctx, 1, marker="<!-- m -->", body="x")),
    ],
)
async def test_what_the_forge_is_asked_for_is_an_error_if_it_is_answered_so(
    runtime: Any, of: str, call: Any, shape: Any
) -> None:
    runtime.hub.pull(draft=True, body="Old.")
    runtime.hub.before_next(ok(shape), on=of)

    with pytest.raises(HttpError, match="the answer"):
        await call(runtime.bridge, runtime.context())
