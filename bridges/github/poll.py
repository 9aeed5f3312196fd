"""Poll GitHub for all pull requests at once: first the lists that tell of all, then what they leave open."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from prloom.api import Answer, BridgeContext, HttpError, Json, Polled, iso

from .access import TokenAccess
from .changes import Changes
from .check_runs import CheckPoller
from .deletions import Deletions
from .mergeability import Mergeability
from .poll_turns import PollTurns
from .pull_requests import PullRequests
from .sansio import cursor, errors, json_access, posts
from .sansio.cursor import GithubCursor
from .sansio.urls import RepositoryUrls
from .source import ApiReader, told_at
from .workflow_runs import WorkflowRuns

_OVERLAP = timedelta(hours=1)
"""How far before the first poll the feeds begin: some posts are seen only a while after the time they say."""
_RENAMED = 'set `repo = "{}"` in [bridges.github], or change the address of `origin`'
_EVER = "1970-01-01T00:00:00Z"
_LONGEST = 120.0
"""Seconds after which a poll begins nothing more; what is left is done by the next."""
_STOPS = {"limited", "unauthorized"}

Step = Callable[[int], Awaitable[None]]
"""Something that is asked about a pull request, by its number; 0 stands for none in particular."""


async def poll(
    ctx: BridgeContext, source: ApiReader, state: Json | None, missed: Collection[int] = ()
) -> tuple[Polled, RepositoryUrls]:
    """Return what is new since the cursor, and the repository by the name that it has now.

    `missed` are pull requests on which a comment was found to be gone.

    The lists of the whole repository come first, and where one fails, the poll fails: nothing is taken as read. What is
    asked for single pull requests after that is due until it was answered.
    """
    tracked = {plan.pr: f"{plan.id}@{plan.adopted or ''}" for plan in ctx.plans if plan.pr is not None}
    known = cursor.read(state)
    known.keep_only(tracked)
    known.look_alone(number for number in missed if number in known.pull_requests)
    news = Changes(known, tracked)
    configured = source.repository.full_name
    source, pulls = await _first_answer(ctx, source, known)
    name = source.repository.full_name
    now = told_at(pulls)
    if now is not None:
        known.notice_time(iso(now)[:19] + "Z")
        ctx = dataclasses.replace(ctx, now=now)
    look = _Look(ctx, source, known, news, tracked)
    await look.at_lists(pulls)
    await look.at_single()
    heads = {number: seen.head for number, seen in known.pull_requests.items() if seen.head}
    warnings = () if name == configured else (f"{configured} was renamed to {name}; {_RENAMED.format(name)}",)
    return Polled(news.told(), cursor.write(known), heads, now=now, warnings=warnings), source.repository


async def _first_answer(ctx: BridgeContext, source: ApiReader, known: GithubCursor) -> tuple[ApiReader, Answer]:
    """Return the first page of the pull requests, and the source by the repository's name as it is now.

    GitHub redirects the old name of a repository. It is followed once: each redirected request costs another one.
    """
    configured = source.repository.full_name
    source = source.called(known.renamed.get(configured, configured))
    try:
        answer = await source.get(source.repository.pulls_latest(), known.pulls.etag)
    except HttpError as error:
        if error.trouble != "gone" or source.repository.full_name == configured:
            raise
        source, known.renamed = source.called(configured), {}
        answer = await source.get(source.repository.pulls_latest())
    if urlsplit(answer.url).path.endswith(f"/{source.repository.root}/pulls"):
        return source, answer
    found = json_access.text((await source.get(source.repository.root)).json(), "full_name")
    if found:
        if found != configured:
            known.renamed = {configured: found}
        else:
            known.renamed = {}
        source = source.called(found)
        ctx.log.warning("the repository %s was renamed to %s", configured, found)
    return source, answer


def _start(now: datetime | None, newest: str) -> str:
    """Return from when the lists of comments are read at first: a while ago, by GitHub's clock and never by ours.

    Where GitHub does not tell the time, it is no earlier than the `newest` change of a pull request.
    """
    by_then = now or json_access.time(newest)
    if by_then is None:
        return _EVER
    return iso(by_then - _OVERLAP)[:19] + "Z"


class _Look:
    """One poll."""

    def __init__(
        self, ctx: BridgeContext, source: ApiReader, known: GithubCursor, news: Changes, tracked: Mapping[int, str]
    ) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._news = news
        self._tracked = tracked
        self._end = time.monotonic() + _LONGEST
        self._sights = PullRequests(ctx, source, known, news)

    async def at_lists(self, pulls: Answer) -> None:
        """Ask the three lists that tell of every pull request, of which the first has been asked for."""
        known, repository = self._known, self._source.repository
        await self._sights.read_list(pulls)
        start = _start(told_at(pulls), known.pulls.since)
        for feed in (known.comments, known.inline):
            feed.since = feed.since or start
        comments = await self._source.news(known.comments, repository.comments_since)
        inline = await self._source.news(known.inline, repository.inline_since)
        said = [*map(posts.comment, comments), *map(posts.inline, inline)]
        self._news.hear(await self._source.account.tell_own(self._source, said))

    async def at_single(self) -> None:
        """Ask about single pull requests what the lists do not tell; what this leaves undone is due still."""
        known, news, eyes = self._known, self._news, TokenAccess(self._ctx, self._known)
        merging = Mergeability(self._source, known, news, eyes, self._sights.end)
        checking = CheckPoller(self._ctx, self._source, known, news, eyes)
        deletions = Deletions(self._ctx, self._source, known, news)
        reviews_due = list(dict.fromkeys(known.reviews_due))
        turns = PollTurns(self._ctx, known, eyes, WorkflowRuns(self._source, known, checking, eyes), checking, merging)
        steps: tuple[tuple[Step, Callable[[], Iterable[int]]], ...] = (
            (self._first_sight, lambda: sorted(self._tracked.keys() - known.pull_requests.keys())),
            (self._sights.read_reviews, lambda: reviews_due),
            (merging.follow, lambda: (0,)),
            (merging.look, merging.due),
            (turns.take, lambda: (0,)),
            (deletions.look, deletions.due),
            (checking.look, checking.due),
        )
        for step, numbers in steps:
            for number in list(numbers()):
                if not await self._try(number, step):
                    return

    async def _first_sight(self, number: int) -> None:
        await self._sights.first(number, self._tracked[number])

    async def _try(self, number: int, step: Step) -> bool:
        """Take one step, whose failure is not the others'; return whether to go on."""
        try:
            await step(number)
        except HttpError as error:
            what = "the rest"
            if number:
                what = f"#{number}"
            self._ctx.log.warning("the next poll reads %s again: %s", what, errors.explained(error))
            return error.trouble not in _STOPS
        return time.monotonic() < self._end
