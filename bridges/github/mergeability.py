"""Find out which pull requests conflict with their base: GitHub tells it of each alone, and works it out late."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prloom.api import HttpError, Json

from . import deletions
from .access import TokenAccess
from .changes import Changes
from .sansio import json_access, pulls
from .sansio.cursor import GithubCursor
from .sansio.pulls import PullRequestSummary
from .source import ApiReader

_LOOKS = 10
"""Pull requests that are looked at in one poll; a push to the base concerns all of them."""
_TRIES = 20
"""How often GitHub is asked while it does not know."""
_MOST_BASES = 5
"""Base branches that are followed; a push to the repository is taken for one to any other."""


def judge(known: GithubCursor, news: Changes, item: Json, now: PullRequestSummary) -> None:
    """Take what GitHub says of a pull request alone."""
    if now.state != "open":
        known.merges_due.pop(now.number, None)
        return
    seen = known.pull_requests[now.number]
    before, seen.conflict = seen.conflict, pulls.conflict(item)
    if seen.conflict and not before:
        news.take([pulls.conflicts(now, json_access.text(item, "base", "sha"))])
    _wait(known, now.number)


def _wait(known: GithubCursor, number: int) -> None:
    """Ask again, for a while, where GitHub has not worked it out; at the end of the queue."""
    tries = known.merges_due.pop(number, 0)
    if known.pull_requests[number].conflict is None and tries < _TRIES:
        known.merges_due[number] = tries + 1


class Mergeability:
    """The looks of one poll. `gone` is told of a pull request that is not there any more."""

    def __init__(
        self, source: ApiReader, known: GithubCursor, news: Changes, eyes: TokenAccess, gone: Callable[[int], None]
    ) -> None:
        self._source = source
        self._known = known
        self._news = news
        self._eyes = eyes
        self._gone = gone

    def due(self) -> Sequence[int]:
        """Return the pull requests to look at: those that changed, and nothing that was heard says how, as well."""
        self._known.look_alone(number for number in self._news.moved if number not in self._known.merges_due)
        self._news.moved.clear()
        return list(self._known.merges_due)[:_LOOKS]

    async def follow(self, _: int) -> None:
        """After a push to the repository, find out whether it was to a base; then its pull requests are due.

        The list of pull requests tells when the last push was, and not where to.
        """
        known = self._known
        if not known.push_seen:
            return
        opened = {number: seen for number, seen in known.pull_requests.items() if seen.state == "open"}
        moved = {base for base in {seen.base for seen in opened.values()} if await self._moved(base)}
        known.merges_due |= {number: 0 for number, seen in opened.items() if seen.base in moved}
        known.push_seen = False

    async def look(self, number: int) -> None:
        """Ask whether a pull request can be merged, and by the way how many comments it has."""
        seen = self._known.pull_requests[number]
        seen.looked["merge"] = self._known.turn
        try:
            answer = await self._source.get(self._source.repository.pull(number), seen.alone)
        except HttpError as error:
            if error.trouble != "gone":
                raise
            self._known.merges_due.pop(number, None)
            self._gone(number)
            return
        self._known.find(number)
        if answer.unchanged:
            item = None
        else:
            item = answer.json()
        now = pulls.summary(item)
        if now is None:
            _wait(self._known, number)
            return
        seen.alone = answer.etag
        deletions.count(self._known, number, item)
        judge(self._known, self._news, item, now)

    async def _moved(self, base: str) -> bool:
        """Whether a branch is not where it was; one that cannot be followed may be anywhere."""
        bases = self._known.bases
        if (base not in bases and len(bases) >= _MOST_BASES) or not self._eyes.see("branches"):
            return True
        try:
            answer = await self._source.get(self._source.repository.branch(base))
        except HttpError as error:
            if error.trouble != "gone":  # the branch
                self._eyes.close("branches", error)
            return True
        before, bases[base] = bases.get(base), json_access.text(answer.json(), "commit", "sha")
        return before not in {None, bases[base]}
