"""Poll GitHub for all pull requests at once: first the lists that cover all of them, then what they leave open."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

from prloom.api import Answer, BridgeContext, HttpError, Json, Polled

from . import boxes, check_runs, pull_requests
from .api_reader import ApiReader, PollContext, TokenAccess, server_time, to_seconds
from .sansio import answers, cursor, pulls, received_posts, schedule
from .sansio.comment_kinds import CommentKind
from .sansio.cursor import ChecksState, GithubCursor, PullRequestState
from .sansio.endpoints import RepositoryUrls
from .sansio.pulls import PullRequestSummary
from .sansio.received_posts import Changes

_OVERLAP = timedelta(hours=1)
"""How far before the first poll the feeds begin: some posts appear only a while after the time that they show."""
_RENAMED = 'set `repo = "{}"` in [bridges.github], or change the address of `origin`'
_EVER = "1970-01-01T00:00:00Z"
_LONGEST = 120.0
"""Seconds after which a poll begins nothing more; what is left is done by the next."""
_STOPS = {"limited", "unauthorized"}
_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised where the bridge does not expect what GitHub says of one pull request."""
_RUNS_OFTEN, _RUNS_SELDOM = 2, 4
"""Each how many polls the runs of Actions are read: where there are any, and where none was ever found."""

Tracked = Mapping[int, str]
"""The tracked pull requests, each with its plan."""


class Step(NamedTuple):
    """Requests about single pull requests: `numbers` returns them, and `read` reads one; 0 means none of them."""

    numbers: Callable[[], Iterable[int]]
    read: Callable[[int], Awaitable[None]]


async def poll(
    ctx: BridgeContext, reader: ApiReader, stored: Json | None, missed: Collection[int] = ()
) -> tuple[Polled, RepositoryUrls]:
    """Return what is new since the stored cursor, and the repository by the name that it has now.

    `missed` are pull requests on which a comment was found to be gone.

    The lists of the whole repository come first, and where one fails, the poll fails: nothing counts as read. What is
    requested for single pull requests after that is due until it was answered.
    """
    tracked = {plan.pr: f"{plan.id}@{plan.adopted or ''}" for plan in ctx.plans if plan.pr is not None}
    remembered = cursor.load(stored)
    remembered.keep_only(tracked)
    remembered.mark_mergeability_due(number for number in missed if number in remembered.pull_requests)
    configured = reader.repository.full_name
    reader, latest = await _read_latest(ctx, reader, remembered)
    name = reader.repository.full_name
    now = server_time(latest)
    if now is not None:
        remembered.start_over_from_future(to_seconds(now))
        ctx = dataclasses.replace(ctx, now=now)
    changes = Changes(remembered, tracked)
    end = time.monotonic() + _LONGEST
    context = PollContext(ctx, reader, remembered, changes, TokenAccess(ctx, remembered), frozenset(remembered.missing))
    await _read_lists(context, latest)
    await _read_single(context, tracked, end)
    heads = {number: each.head for number, each in remembered.pull_requests.items() if each.head}
    bases = {number: each.base for number, each in remembered.pull_requests.items() if each.base}
    if name != configured:
        context.warnings.append(f"{configured} was renamed to {name}; {_RENAMED.format(name)}")
    polled = Polled(
        changes.events(),
        cursor.dump(remembered),
        heads,
        ticked=boxes.reported(remembered),
        now=now,
        warnings=tuple(context.warnings),
        bases=bases,
    )
    return polled, reader.repository


async def _read_latest(ctx: BridgeContext, reader: ApiReader, remembered: GithubCursor) -> tuple[ApiReader, Answer]:
    """Return the first page of the pull requests, and the reader for the repository's present name.

    GitHub redirects the old name of a repository. It is followed once: each redirected request costs another one.
    """
    configured = reader.repository.full_name
    reader = reader.renamed(remembered.renamed.get(configured, configured))
    try:
        answer = await reader.get(reader.repository.pulls_latest(), remembered.pulls.etag)
    except HttpError as error:
        if error.trouble != "gone" or reader.repository.full_name == configured:
            raise
        reader, remembered.renamed = reader.renamed(configured), {}
        answer = await reader.get(reader.repository.pulls_latest())
    if urlsplit(answer.url).path.endswith(f"/{reader.repository.root}/pulls"):
        return reader, answer
    found = answers.text((await reader.get(reader.repository.root)).json(), "full_name")
    if found:
        remembered.renamed = {}
        if found != configured:
            remembered.renamed = {configured: found}
        reader = reader.renamed(found)
        ctx.log.warning("the repository %s was renamed to %s", configured, found)
    return reader, answer


# ---- the lists of the whole repository


async def _read_lists(poll: PollContext, latest: Answer) -> None:
    """Read the three lists that cover every pull request; the first page of the first has been read."""
    reader, remembered = poll.reader, poll.cursor
    await _read_pulls(poll, latest)
    start = _start(server_time(latest), remembered.pulls.since)
    listed: dict[CommentKind, list[Json]] = {}
    for kind, feed in remembered.comment_feeds.items():
        feed.since = feed.since or start
        listed[kind] = await reader.read_feed(feed, partial(reader.repository.comments_since, kind))
    posts = await reader.account.mark_own(reader, received_posts.comments(listed))
    poll.changes.add_posts(posts)
    boxes.note_comments(poll, listed["comments"], posts)


def _start(now: datetime | None, newest: str) -> str:
    """Return from when the lists of comments are read at first: a while ago, by GitHub's clock and never by ours.

    If GitHub does not say the time, it is no earlier than the `newest` change of a pull request.
    """
    at_least = now or answers.time(newest)
    if at_least is None:
        return _EVER
    return to_seconds(at_least - _OVERLAP)


async def _read_pulls(poll: PollContext, answer: Answer) -> None:
    """Read the list of all pull requests, of which this is the first page, as far as they changed since."""
    remembered = poll.cursor
    feed = remembered.pulls
    if answer.unchanged:
        return
    etag, newest, pushed = answer.etag, feed.since, remembered.pushed
    read: set[str] = set()
    while True:
        read.add(answer.url)
        items = answers.page(answer)
        boxes.note(poll, items)
        page = [now for item in items if (now := pulls.summary(item)) is not None]
        for now in page:
            newest, pushed = max(newest, now.updated), max(pushed, now.pushed)
            _compare(poll, now)
        is_next_old = not feed.since or not page or page[-1].updated < feed.since
        if is_next_old or answer.next_page is None or answer.next_page in read:
            break
        answer = await poll.reader.get(answer.next_page)
    remembered.push_pending |= pushed != remembered.pushed
    feed.since, feed.etag, remembered.pushed = newest, etag, pushed


def _compare(poll: PollContext, now: PullRequestSummary) -> None:
    """Compare a pull request with its stored state."""
    before = poll.cursor.pull_requests.get(now.number)
    if before is None or not pulls.differs(before, now):
        return
    poll.changes.unexplained.add(now.number)
    poll.changes.add(pulls.changes(before, now))
    poll.cursor.reviews_due.append(now.number)
    _store(poll, now, before)


def _store(poll: PollContext, now: PullRequestSummary, state: PullRequestState) -> None:
    """Store the new state of a pull request; after new commits, its checks and conflicts are due."""
    has_new_head = state.head != now.head
    is_reopened = state.state != "open" and now.state == "open"
    if has_new_head or state.base != now.base or is_reopened:
        poll.cursor.mark_mergeability_due([now.number])
    if has_new_head:
        state.checks = ChecksState()
        state.checks.begin(poll.ctx.now)
        poll.cursor.checks_due.append(now.number)
    state.head, state.base, state.state, state.updated = now.head, now.base, now.state, now.updated
    state.fork, state.owner = now.fork, now.owner


# ---- single pull requests


async def _read_single(poll: PollContext, tracked: Tracked, end: float) -> None:
    """Request for single pull requests what the lists do not show; after the `end`, what is left stays due."""
    for step in _steps(poll, tracked):
        for number in list(step.numbers()):
            goes_on = await _try(poll, number, step)
            if not goes_on or time.monotonic() >= end:
                return


def _steps(poll: PollContext, tracked: Tracked) -> tuple[Step, ...]:
    """Return what to read, in this order."""
    remembered = poll.cursor
    reviews_due = list(dict.fromkeys(remembered.reviews_due))
    return (
        Step(
            lambda: sorted(tracked.keys() - remembered.pull_requests.keys()),
            lambda number: pull_requests.read_new(poll, number, tracked[number]),
        ),
        Step(lambda: boxes.due(poll), lambda number: boxes.read(poll, number)),
        Step(lambda: remembered.read_before(reviews_due), lambda number: pull_requests.read_reviews(poll, number)),
        Step(lambda: (0,), lambda _: pull_requests.follow_bases(poll)),
        Step(
            lambda: pull_requests.mergeability_due(poll),
            lambda number: pull_requests.read_mergeability(poll, number),
        ),
        Step(lambda: (0,), lambda _: _read_scheduled(poll)),
        Step(
            lambda: pull_requests.deletions_due(poll),
            lambda number: pull_requests.find_deletions(poll, number),
        ),
        Step(lambda: check_runs.due(poll), lambda number: check_runs.read_checks(poll, number)),
    )


async def _try(poll: PollContext, number: int, step: Step) -> bool:
    """Take a step for one pull request, whose failure does not stop the others; return whether to go on."""
    what = "the rest"
    if number:
        what = f"#{number}"
    is_new = number not in poll.cursor.pull_requests
    try:
        await step.read(number)
    except HttpError as error:
        poll.ctx.log.warning("the next poll reads %s again: %s", what, answers.describe(error))
        return error.trouble not in _STOPS
    except _BUGS as error:
        poll.ctx.log.exception("a bug in the github bridge; the next poll reads %s from the beginning", what)
        poll.warnings.append(f"{what} cannot be read, by a bug in the github bridge: {type(error).__name__}: {error}")
        if number:
            poll.cursor.start_over(number, anew=is_new)
            poll.changes.unexplained.discard(number)
    return True


async def _read_scheduled(poll: PollContext) -> None:
    """Send the one request of each poll for what nothing points to: checks and conflicts have no list for all.

    Where GitHub Actions is at work, every other one is for its runs. The rest goes to single pull requests.
    """
    remembered = poll.cursor
    remembered.poll_number += 1
    interval = _RUNS_SELDOM
    if "actions" in remembered.used or not poll.access.allows("checks"):
        interval = _RUNS_OFTEN
    if poll.access.allows("actions") and remembered.poll_number % interval == 1:
        await check_runs.read_workflow_runs(poll)
        return
    kinds = [kind for kind in schedule.KINDS if poll.access.allows(kind)]
    chosen = schedule.next_read(remembered, kinds, poll.ctx.now)
    if chosen is None:
        return
    if chosen.kind == "merge":
        await pull_requests.read_mergeability(poll, chosen.number)
    else:
        await check_runs.read_kind(poll, chosen.number, chosen.kind)
