"""Read from GitHub's API: one answer, all pages of a list, or what is new in it; and what the token may read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from prloom.api import Answer, Author, BridgeContext, Http, HttpError, Json, iso, marked, marker

from . import paging
from .sansio import answers, endpoints, pulls
from .sansio.cursor import Feed, GithubCursor
from .sansio.endpoints import PAGE_SIZE, RepositoryUrls
from .sansio.pulls import PullRequestSummary
from .sansio.received_posts import Changes, Post

_LATE = timedelta(minutes=5)
_SLOW = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
_WINDOW = 50  # items that a feed reads again and again, before it moves on
_REFUSED = {"gone", "forbidden", "refused"}
_DENIED = timedelta(hours=6)
"""How long the bridge does not request again what the token may not read."""


@dataclass(frozen=True)
class ApiReader:
    """A repository, the client that sends requests about it, and the account that the client's token belongs to."""

    http: Http
    repository: RepositoryUrls
    account: TokenAccount
    graphql_url: str

    def renamed(self, full_name: str) -> ApiReader:
        """Return the same reader for the repository of this name."""
        return replace(self, repository=RepositoryUrls(full_name))

    async def get(self, url: str, etag: str | None = None) -> Answer:
        """Send a GET request; with a tag, GitHub answers only if the answer has changed."""
        return await self.http.request("GET", url, etag=etag)

    async def pull(self, number: int) -> tuple[Json, PullRequestSummary]:
        """Return a pull request, as GitHub shows it alone."""
        return pulls.read_alone(await self.get(self.repository.pull(number)), number)

    async def send(self, method: str, url: str, body: Json) -> Answer:
        """Send a request that changes something."""
        return await self.http.request(method, url, body=body)

    async def graphql(self, query: Json) -> Answer:
        """Send a GraphQL query; its answer may be an error inside a 200.

        One that is refused as a whole says nothing of what it is about: neither that it is gone, nor who may see it.
        """
        try:
            return await self.http.request("POST", self.graphql_url, body=query)
        except HttpError as error:
            if error.trouble not in _REFUSED:
                raise
            why = f"{error.status}: {answers.message(error)}"
            text = f"GraphQL is refused at {self.graphql_url} ({why}); prloom needs it"
            raise HttpError(text, trouble="refused", status=error.status) from error

    async def exists(self, url: str) -> bool:
        """Whether GitHub finds the address; raises any other error."""
        try:
            answers.with_id(await self.get(url))
        except HttpError as error:
            if error.trouble != "gone":
                raise
            return False
        return True

    async def sees_repository(self) -> bool:
        """Whether GitHub shows the repository: a 404 for anything in it may mean that it does not, or not any more."""
        return await self.exists(self.repository.root)

    async def items_from(self, answer: Answer, *path: str) -> list[Json]:
        """Return the items of a list, of which this is the first page.

        What moves to another page meanwhile may be missing: this is for what the bridge reads again after each change.
        """
        return paging.items(await paging.read_pages(self.get, answer), *path)

    async def all_from(self, answer: Answer, *path: str) -> list[Json]:
        """Return all items of a list, of which this is the first page."""
        return await paging.read_all(self.get, answer, *path)

    async def all(self, url: str, *path: str) -> list[Json]:
        """Return all items of a list."""
        return await self.all_from(await self.get(url), *path)

    async def read_feed(self, feed: Feed, url: Callable[[str], str]) -> list[Json]:
        """Return what a list has since the feed's time, and move the feed on; where nothing changed, it is free.

        An edit between two pages moves a post to the end of the list, and the next page would begin one item too late:
        so after a full page, the bridge requests what came after its last item. GitHub's `since` includes that very
        second.

        The time is moved on only when many items have come since: as long as the request is the same, its tag is valid.
        """
        since, last = feed.since, feed.since
        answer = await self.get(url(since), feed.etag)
        if answer.unchanged:
            return []
        page = answers.page(answer)
        found: list[Json] = [*page]
        read = {answer.url}
        for _ in range(paging.MOST_PAGES):
            if page:
                last = max(last, answers.text(page[-1], "updated_at"))
            next_url = answer.next_page
            if next_url is None or next_url in read:
                break
            if last > since:
                since = last
                next_url = url(last)
            answer = await self.get(next_url)
            read.add(answer.url)
            page = answers.page(answer)
            found += page
        begin = feed.since
        if len(found) > _WINDOW:
            begin = max(feed.since, _begin(answer, last))
        # A full page looks the same when more comes after it, so its tag says nothing.
        is_only_page = since == feed.since == begin and len(found) < PAGE_SIZE
        feed.since = begin
        feed.etag = answer.etag if is_only_page else None
        return found


def is_complete(answer: Answer, timestamp: str) -> bool:
    """Whether an answer shows all that happened until then: in that very second more may still happen."""
    now, then = server_time(answer), answers.time(timestamp)
    return now is None or then is None or now - then >= _SLOW


def _begin(answer: Answer, last: str) -> str:
    """Return a time before which nothing new appears: some posts appear only a while after the time that they show.

    `answer` is the last page that was read, and `last` the time of its last post.
    """
    then, now = answers.time(last), server_time(answer)
    if then is None or answer.next_page is not None:
        return last
    if now is None:
        return to_seconds(then - _LATE)
    return to_seconds(min(then + _SECOND, now - _LATE))


def server_time(answer: Answer) -> datetime | None:
    """Return when the server answered, by its own clock: ours may be hours off."""
    try:
        return parsedate_to_datetime(answer.headers.get("date", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def to_seconds(time: datetime) -> str:
    """Return a time as GitHub writes it: to the second."""
    return iso(time)[:19] + "Z"


class TokenAccess:
    """What the token may read in this poll: "actions", "checks", "status", "branches"."""

    def __init__(self, ctx: BridgeContext, cursor: GithubCursor) -> None:
        self._ctx = ctx
        self._cursor = cursor

    def allows(self, what: str) -> bool:
        """Whether the bridge may request it."""
        until = self._cursor.denied_until.get(what, "")
        # A time further ahead was written by a clock that was ahead.
        return not iso(self._ctx.now) < until <= iso(self._ctx.now + _DENIED)

    def deny(self, what: str, error: HttpError) -> None:
        """Do not request for a while what the token may not read, or what does not exist; raise any other error."""
        if error.trouble not in {"forbidden", "gone"}:
            raise error
        self._cursor.denied_until[what] = iso(self._ctx.now + _DENIED)
        if what == "checks":  # those of Actions can be read by its runs, from the latest on
            self._cursor.actions = Feed()
        text = answers.describe(error)
        self._ctx.log.warning("this token has no access to %s, so they are not read: %s", what, text)


@dataclass(frozen=True)
class PollContext:
    """What each step of one poll works with.

    `missing_before` are the pull requests that the last poll did not find, and `warnings` what the operator is to know.
    """

    ctx: BridgeContext
    reader: ApiReader
    cursor: GithubCursor
    changes: Changes
    access: TokenAccess
    missing_before: frozenset[int]
    warnings: list[str] = field(default_factory=list)

    @property
    def now(self) -> str:
        """The time of the poll."""
        return iso(self.ctx.now)


@dataclass(frozen=True)
class Account:
    """A login; or if GitHub does not say it, whether it is an App's (whose login only Apps can have)."""

    login: str | None
    app: bool = False

    def is_author(self, author: Author) -> bool:
        """Whether the account is certainly the author's; of an App only that it is a bot's."""
        if self.login is None:
            return self.app and author.bot
        return author.login.lower() == self.login.lower()

    def may_be_author(self, author: Author) -> bool:
        """Whether the account may be the author's: an unknown one may be anybody's."""
        if self.login is None and not self.app:
            return True
        return self.is_author(author)


class TokenAccount:
    """The account of the token. The bridge requests it only when that is needed, and at most once in a poll."""

    def __init__(self) -> None:
        self._account: Account | None = None
        self._certain = False

    def expire(self) -> None:
        """Request it again where an author is not the account: a renewed token may be another account's."""
        self._certain = False

    async def of(self, reader: ApiReader, authors: Iterable[Author]) -> Account:
        """Return the account, which may have written what these authors wrote."""
        account = self._account
        is_enough = account is not None and (self._certain or all(map(account.is_author, authors)))
        if account is None or not is_enough:
            account = self._account = await _read_account(reader)
            self._certain = True
        return account

    async def mark_own(self, reader: ApiReader, posts: Iterable[Post | None]) -> list[Post]:
        """Return the posts; the account's own that begin with a marker get `ownAccount` in their context."""
        found = [post for post in posts if post is not None]
        authors = [post.author for post in found if _begins_with_marker(post)]
        if not authors:
            return found
        account = await self.of(reader, authors)
        return [_marked_if_own(post, account) for post in found]


async def _read_account(reader: ApiReader) -> Account:
    try:
        answer = await reader.get(endpoints.USER)
    except HttpError as error:
        if error.trouble not in {"forbidden", "gone"}:
            raise
        return Account(None, app=answers.mentions(error, "integration"))
    login = answers.text(answer.json(), "login")
    if not login:
        raise answers.unexpected(answer, "does not name the account of the token")
    return Account(login)


def _begins_with_marker(post: Post) -> bool:
    ids = marked(post.body)
    return bool(ids) and post.body.lstrip().startswith(marker(ids[0]))


def _marked_if_own(post: Post, account: Account) -> Post:
    if not _begins_with_marker(post) or not account.is_author(post.author):
        return post
    return replace(post, context={**post.context, "ownAccount": True})
