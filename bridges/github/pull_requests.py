"""See pull requests: all of them by their list, one for the first time, its reviews, and its end."""

from __future__ import annotations

from prloom.api import Answer, BridgeContext, HttpError, iso

from . import mergeability
from .changes import Changes
from .sansio import checks, json_access, posts, pulls, urls
from .sansio.cursor import GithubCursor, SeenPullRequest
from .sansio.posts import Post
from .sansio.pulls import PullRequestSummary
from .source import ApiReader, settled


class PullRequests:
    """How pull requests are seen in one poll, and remembered."""

    def __init__(self, ctx: BridgeContext, source: ApiReader, known: GithubCursor, news: Changes) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._news = news
        self._doubted = frozenset(known.missing)

    async def read_list(self, answer: Answer) -> None:
        """Read the list of all pull requests, of which this is the first page, as far as they changed since."""
        known = self._known
        feed = known.pulls
        if answer.unchanged:
            return
        etag, newest, pushed = answer.etag, feed.since, known.pushed
        while True:
            page = [now for item in json_access.items(answer.json()) if (now := pulls.summary(item)) is not None]
            newest = max([newest, *(now.updated for now in page)])
            pushed = max([pushed, *(now.pushed for now in page)])
            for now in page:
                self._see(now)
            if not feed.since or answer.next_page is None or not page or page[-1].updated < feed.since:
                break
            answer = await self._source.get(answer.next_page)
        known.push_seen |= pushed != known.pushed
        feed.since, feed.etag, known.pushed = newest, etag, pushed

    def _see(self, now: PullRequestSummary) -> None:
        """Compare a pull request with how it was seen last."""
        seen = self._known.pull_requests.get(now.number)
        if seen is None or not pulls.differs(seen, now):
            return
        self._news.moved.add(now.number)
        self._news.take(pulls.happened(seen, now))
        self._known.reviews_due.append(now.number)
        self._keep(now, seen)

    def _keep(self, now: PullRequestSummary, seen: SeenPullRequest) -> None:
        """Remember how a pull request was seen; what changed its commits has to be looked at anew."""
        if seen.head != now.head or seen.base != now.base or (seen.state != "open" and now.state == "open"):
            self._known.look_alone([now.number])
        if seen.head != now.head:
            seen.checks = checks.begin(self._ctx.now)
            self._known.checks_due.append(now.number)
        seen.head, seen.base, seen.state, seen.updated = now.head, now.base, now.state, now.updated
        seen.fork, seen.owner = now.fork, now.owner

    async def first(self, number: int, plan: str) -> None:
        """Read all that was said on a pull request before this plan looked after it."""
        repository, known = self._source.repository, self._known
        try:
            answer = await self._source.get(repository.pull(number))
        except HttpError as error:
            if error.trouble != "gone":
                raise
            self.end(number, plan)
            return
        known.find(number)
        item = answer.json()
        now = pulls.summary(item)
        if now is None:
            raise HttpError(f"#{number}: the answer is not a pull request", trouble="unknown")
        comments = await self._source.all(repository.comments_of(number))
        inline = await self._source.all(repository.inline_of(number))
        seen = SeenPullRequest(
            head=now.head, base=now.base, state=now.state, updated=now.updated, conflict=False, plan=plan
        )
        seen.fork, seen.owner, seen.alone = now.fork, now.owner, answer.etag
        reviews = await self._reviews(number, seen)
        said = [*map(posts.comment, comments), *map(posts.inline, inline)]
        said = [*await self._source.account.tell_own(self._source, said), *reviews]
        known.pull_requests[number] = seen
        self._news.take(pulls.happened(None, now))
        anew = known.heard_before.pop(number, None) != plan
        self._news.hear(said, anew=anew)
        read = {"comments": len(comments), "inline": len(inline)}
        seen.counts = {kind: max(count, read[kind]) for kind, count in pulls.counts(item).items()}
        seen.looked["merge"] = known.turn
        mergeability.judge(known, self._news, item, now)
        if now.state == "open":
            known.checks_due.append(number)

    def end(self, number: int, plan: str = "") -> None:
        """Take note that a pull request is gone, once two polls were told so that were shown the repository.

        Whoever loses sight of the repository between two requests loses sight of one pull request first.
        """
        known = self._known
        if number not in self._doubted:
            known.miss(number)
            return
        known.find(number)
        seen = known.pull_requests.setdefault(number, SeenPullRequest(plan=plan))
        if seen.state != "closed":
            self._news.take([pulls.gone(number, iso(self._ctx.now))])
        seen.state = "closed"
        known.reviews_due = [due for due in known.reviews_due if due != number]

    async def read_reviews(self, number: int) -> None:
        """Read the reviews of a pull request."""
        seen = self._known.pull_requests[number]
        try:
            found = await self._reviews(number, seen)
        except HttpError as error:
            if error.trouble != "gone":
                raise
            self.end(number)
        else:
            self._news.hear(found)

    async def _reviews(self, number: int, seen: SeenPullRequest) -> list[Post]:
        """Return the reviews of a pull request; none where nothing changed since they were read last.

        A review that comes within the second in which the pull request changed moves no time of it: so reviews are
        read once more when that second is long over.
        """
        answer = await self._source.get(urls.listed(f"{self._source.repository.pull(number)}/reviews"), seen.reviews)
        if answer.unchanged:
            found = []
        else:
            found = await self._source.rest(answer)
        said = await self._source.account.tell_own(self._source, [posts.review(item, number) for item in found])
        due = [each for each in self._known.reviews_due if each != number]
        if settled(answer, seen.updated):
            self._known.reviews_due = due
        else:
            self._known.reviews_due = [*due, number]
        if not answer.unchanged:  # the tag is that of one page, which when full looks the same as more follow it
            alone = answer.next_page is None and len(found) < urls.PAGE
            if alone:
                seen.reviews = answer.etag
            else:
                seen.reviews = None
        return said
