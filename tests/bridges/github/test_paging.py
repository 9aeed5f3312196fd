"""Lists of several pages are read completely, although something is deleted or closed while they are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fake_github import NONE, RESET
from fake_github.exchange import Outcome, Response

from prloom.api import Comment, Delivered, HttpError, ResolveThread

MARKER = "<!-- prloom:cockpit -->"


async def watched(runtime: Any) -> Any:
    pull = runtime.hub.pull()
    runtime.track(pull)
    await runtime.poll()
    return pull


def commented(runtime: Any, pull: Any, kind: str, count: int) -> list[Any]:
    """Let somebody write so many comments of a kind, long before the pull request is tracked."""
    write = {"issues": runtime.hub.comment, "pulls": runtime.hub.inline}[kind]
    written = [write(pull, "ann", f"{kind} {number}") for number in range(count)]
    runtime.clock.advance(hours=10)
    return written


async def heard(runtime: Any, polls: int) -> set[str]:
    return {event.body for _ in range(polls) for event in await runtime.poll()}


# ---- what is deleted between two pages


@pytest.mark.parametrize("deletions", [1, 3])
@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_a_deletion_between_two_pages_hides_no_comment_of_a_new_pull_request(
    new_runtime: Callable[..., Any], kind: str, deletions: int
) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.hub.person("ann", "write")
    pull = runtime.hub.pull()
    comments = commented(runtime, pull, kind, 150)
    runtime.track(pull)
    for number in range(deletions):
        page = f"GET */{kind}/1/comments"
        runtime.hub.after_next(lambda at=number: runtime.hub.delete(comments[at]), on=page, skip=2 * number)

    missing = {f"{kind} {number}" for number in range(deletions, 150)} - await heard(runtime, 4)

    assert missing == set()


async def test_a_list_that_changes_each_time_is_read_by_the_next_poll(
    runtime: Any, caplog: pytest.LogCaptureFixture
) -> None:
    pull = runtime.hub.pull()
    comments = commented(runtime, pull, "issues", 150)
    runtime.track(pull)
    for number in range(6):
        page = "GET */issues/1/comments"
        runtime.hub.after_next(lambda at=number: runtime.hub.delete(comments[at]), on=page, skip=2 * number)

    first, second = await heard(runtime, 1), await heard(runtime, 1)

    assert (first, second) == (set(), {f"issues {number}" for number in range(6, 150)})
    assert [record.getMessage() for record in caplog.records] == [
        "the next poll reads #1 again: /repos/ada/engine/issues/1/comments: something was deleted each time it was read"
    ]


async def test_a_draft_that_is_discarded_between_two_pages_hides_no_review(runtime: Any) -> None:
    pull = runtime.hub.pull()
    draft = runtime.hub.review(pull, "ada", "PENDING", "not yet")
    for number in range(100):
        runtime.hub.review(pull, "ann", "COMMENTED", str(number))
    runtime.track(pull)
    runtime.hub.after_next(lambda: runtime.hub.delete(draft), on="GET */pulls/1/reviews")

    assert await heard(runtime, 1) == {str(number) for number in range(100)}


@pytest.mark.parametrize("inline", [False, True])
async def test_p3_a_deletion_between_two_pages_does_not_hide_what_was_posted(
    runtime: Any,
    inline: bool,  # noqa: FBT001 - parametrised
) -> None:
    pull = await watched(runtime)
    kind = "pulls" if inline else "issues"
    comments = commented(runtime, pull, kind, 100)
    events = await runtime.poll()
    target = events[-1].reply_to
    runtime.hub.after_next(RESET, on="POST */comments*")
    await runtime.act(target, Comment("Done."))
    runtime.hub.after_next(lambda: runtime.hub.delete(comments[3]), on=f"GET */{kind}/1/comments")

    result = await runtime.act(target, Comment("Done."), uncertain=True)

    assert isinstance(result, Delivered)
    assert len([post for post in runtime.hub.posts("ada") if post.body]) == 1


async def test_p3_a_deletion_between_two_pages_does_not_hide_the_comment_that_is_kept_up_to_date(runtime: Any) -> None:
    pull = await watched(runtime)
    comments = commented(runtime, pull, "issues", 100)
    runtime.hub.after_next(RESET, on="POST */comments")
    with pytest.raises(HttpError):
        await runtime.bridge.upsert_comment(runtime.context(), 1, marker=MARKER, body="one")
    runtime.hub.after_next(lambda: runtime.hub.delete(comments[3]), on="GET */issues/1/comments")

    await runtime.bridge.upsert_comment(runtime.context(), 1, marker=MARKER, body="two")

    assert [post.body for post in runtime.hub.posts("ada")] == [f"{MARKER}\ntwo"]


async def test_a_pull_request_that_is_closed_between_two_pages_hides_no_other_open_one(runtime: Any) -> None:
    pulls = [runtime.hub.pull() for _ in range(60)]
    runtime.hub.after_next(lambda: runtime.hub.close(pulls[3]), on="GET */pulls", skip=1)

    found = await runtime.bridge.open_pull_requests(runtime.context())

    assert {pull.number for pull in pulls} - {pull.number for pull in found} <= {pulls[3].number}


# ---- what it costs


@pytest.mark.parametrize(("count", "requests", "charged"), [(99, 1, 1), (100, 1, 1), (101, 4, 2), (250, 6, 3)])
async def test_only_lists_of_several_pages_are_read_again_and_that_is_not_charged(
    runtime: Any, count: int, requests: int, charged: int
) -> None:
    pull = runtime.hub.pull()
    commented(runtime, pull, "issues", count)
    runtime.track(pull)

    await runtime.poll()

    of_list = [each for each in runtime.hub.asked if each.path.endswith("/issues/1/comments")]
    assert (len(of_list), sum(each.charged for each in of_list)) == (requests, charged)


# ---- pages without an end


def links(runtime: Any, part: str, link: Callable[[str], str]) -> None:
    """Let each answer to a request whose address has this part lead to another page."""
    real = runtime.hub.handle

    def handle(request: Any) -> Outcome:
        found = real(request)
        if isinstance(found, Response) and found.status == 200 and re.search(part, request.url):
            return Response(200, {**found.headers, "link": f'<{link(request.url)}>; rel="next"'}, found.body)
        return found

    runtime.hub.handle = handle


@pytest.mark.parametrize("part", ["/issues/comments", "/pulls/comments", r"/pulls\?state=all"])
async def test_a_list_of_all_that_leads_to_itself_ends_there(runtime: Any, part: str) -> None:
    pull = await watched(runtime)
    await runtime.bridge.open_pull_requests(runtime.context())
    links(runtime, part, lambda url: url)
    runtime.hub.comment(pull, "ann", "hello")
    runtime.hub.inline(pull, "ann", "there")
    runtime.requests()

    assert await heard(runtime, 2) == {"hello", "there"}
    assert len(runtime.requests()) < 20
    assert len(await runtime.bridge.open_pull_requests(runtime.context())) == 1


@pytest.mark.parametrize(
    ("path", "next_page", "why"),
    [
        (
            "/issues/1/comments",
            lambda url: url,
            "/repos/ada/engine/issues/1/comments: a page of the list leads to one that was read already",
        ),
        ("/pulls/1/reviews", lambda _: "http://[::1", "GET: the address is not valid: Invalid IPv6 URL"),
    ],
    ids=["itself", "no address"],
)
async def test_a_page_that_leads_to_itself_or_to_no_address_stops_one_pull_request_only(
    runtime: Any, caplog: pytest.LogCaptureFixture, path: str, next_page: Callable[[str], str], why: str
) -> None:
    pull, other = runtime.hub.pull(), runtime.hub.pull()
    runtime.track(pull, other)
    links(runtime, path, next_page)
    runtime.hub.comment(other, "ann", "hello")

    assert await heard(runtime, 1) == {"hello"}
    assert len(runtime.requests()) < 20
    assert [record.getMessage() for record in caplog.records] == [f"the next poll reads #1 again: {why}"]


async def test_a_list_without_an_end_is_an_error(
    new_runtime: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.track(runtime.hub.pull())
    numbers = iter(range(2, 320))
    links(runtime, "/issues/1/comments", lambda url: f"{url.partition('?')[0]}?page={next(numbers, 2)}")

    await runtime.poll()

    assert [record.getMessage() for record in caplog.records] == [
        "the next poll reads #1 again: /repos/ada/engine/issues/1/comments: more than 300 pages"
    ]


async def test_threads_without_an_end_are_an_error(new_runtime: Callable[..., Any]) -> None:
    runtime = new_runtime(rules=NONE)
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.inline(pull, "ada", "why?")
    (event,) = await runtime.poll()
    page = b'{"data": {"repository": {"pullRequest": {"reviewThreads": {"nodes": [], "pageInfo": '
    page += b'{"hasNextPage": true, "endCursor": "x"}}}}}}'
    answer = Response(200, {"content-type": "application/json"}, page)
    runtime.hub.before_next(answer, on="POST /graphql", times=400)

    result = await runtime.act(event.reply_to, ResolveThread())

    assert (result.error, result.unknown) == ("#1: more than 300 pages of threads", True)
