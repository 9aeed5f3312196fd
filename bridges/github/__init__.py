"""Read feedback from pull requests on GitHub or a GitHub Enterprise Server, and reply there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from prloom.api import (
    Action,
    BridgeContext,
    Delivered,
    Event,
    ExtensionError,
    HttpError,
    Issue,
    Json,
    Polled,
    PostedComment,
    PullRequest,
    React,
    Refused,
)

from . import deliver, forge, poll
from .api_reader import ApiReader, TokenAccount
from .open_pull_requests import OpenPullRequests
from .sansio import answers, endpoints, remote, requests
from .settings import Config

_BLOCKED = 451
_NO_REPOSITORY = 'no repository on GitHub is known; set `repo = "owner/name"` in [bridges.github]'


class GithubBridge:
    """One repository on GitHub; what the bridge remembers is in its cursor, and at GitHub."""

    name = "github"
    targets = (requests.TARGET,)

    def __init__(self, config: Config) -> None:
        self.http = endpoints.needs(config.api_url)
        self._config = config
        self._repo = config.repo
        self._repository = endpoints.RepositoryUrls(config.repo)
        self._graphql_url = endpoints.graphql_url(config.api_url)
        self._account = TokenAccount()
        self._open = OpenPullRequests()
        self._missed: set[int] = set()  # a hint for the next poll; if it is lost, a later poll finds the change

    def use_origin(self, url: str) -> None:
        """Take the repository at the address of the git remote `origin`, unless the settings name one."""
        if not self._repo:
            self._repo = remote.owner_and_name(url, self._config.api_url) or ""
            self._repository = endpoints.RepositoryUrls(self._repo)

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Return what is new on all tracked pull requests; where there are none, no request is sent."""
        if not self._repo:
            return Polled(idle=_NO_REPOSITORY)
        if not any(plan.pr for plan in ctx.plans):
            return Polled(idle="no plan has a pull request")
        self._account.expire()
        missed = frozenset(self._missed)
        with self._advice():
            polled, self._repository = await poll.poll(ctx, self._configured_reader(ctx), state, missed)
        self._missed -= missed
        return polled

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Carry out one action."""
        if not self._repo:
            return Refused(_NO_REPOSITORY)
        return await deliver.deliver(ctx, self._reader(ctx), action, self._missed.add)

    def acknowledgement(self, event: Event) -> React | None:
        """Return the reaction by which a comment is acknowledged; GitHub accepts none to a review."""
        if event.reply_to is None or not self._config.acknowledge:
            return None
        where = requests.read_token(event.reply_to.token, None)
        if where is None or not (where.comment or where.inline):
            return None
        return React(self._config.acknowledge)

    async def permission(self, ctx: BridgeContext, login: str) -> str:
        """Return the permission of an account in the repository; none where GitHub has no such account."""
        reader = self._reader(ctx)
        try:
            answer = await reader.get(reader.repository.permission(login))
            found = answers.permission(answer.json())
            if found is None:
                raise answers.unexpected(answer, "does not say the permission")
        except HttpError as error:
            is_unknown = answers.mentions(error, "is not a user")
            if error.trouble == "gone" and (is_unknown or await reader.sees_repository()):
                return "none"
            raise error.reworded(answers.describe(error)) from error
        return found

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open a pull request, or return the open one of the branch: also where the answer to an opening was lost."""
        return await forge.open_pull_request(
            self._reader(ctx), branch=branch, base=base, title=title, body=body, draft=draft
        )

    async def find_pull_request(self, ctx: BridgeContext, branch: str) -> PullRequest | None:
        """Return the pull request of a branch of the repository: one that is open, else the latest."""
        with self._advice():
            return await forge.find(self._reader(ctx), branch, state="all")

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        """Replace the body, and the title where there is one, if the body is the expected one; return it as it is."""
        return await forge.describe(self._reader(ctx), number, body=body, title=title, expected=expected)

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        """Take the pull request out of draft, unless it is no draft."""
        await forge.mark_ready(self._reader(ctx), number)

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        """Return the pull request, or None where GitHub says that there is none."""
        with self._advice():
            return await forge.read(self._reader(ctx), number)

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        """Return all open pull requests; where nothing has changed, GitHub charges nothing for it."""
        with self._advice():
            return await self._open.read(self._reader(ctx))

    async def read_issue(self, ctx: BridgeContext, number: int) -> Issue | None:
        """Return the issue, or None where GitHub has none of this number."""
        with self._advice():
            return await forge.read_issue(self._reader(ctx), number)

    async def upsert_comment(
        self,
        ctx: BridgeContext,
        number: int,
        *,
        marker: str,
        body: str,
        remote_id: str | None = None,
        expected: str | None = None,
    ) -> PostedComment:
        """Edit the own comment that begins with this marker, or post it; return it as it is then."""
        return await forge.upsert_comment(
            self._reader(ctx), number, marker=marker, body=body, remote_id=remote_id, expected=expected
        )

    def unavailable(self) -> str | None:
        """Return why GitHub cannot be asked: no repository is known."""
        if self._repo:
            return None
        return _NO_REPOSITORY

    async def own_login(self, ctx: BridgeContext) -> str | None:
        """Return the login of the token's account; None for that of an App, which GitHub does not say."""
        reader = self._reader(ctx)
        with self._advice():
            return (await reader.account.of(reader, ())).login

    @contextmanager
    def _advice(self) -> Iterator[None]:
        """Raise the errors of a reading with a text that says what to do."""
        try:
            yield
        except HttpError as error:
            raise _with_advice(error, self._repo) from error

    def _configured_reader(self, ctx: BridgeContext) -> ApiReader:
        if not self._repo:
            raise ExtensionError(_NO_REPOSITORY)
        if ctx.http is None:
            raise ExtensionError("the github bridge got no HTTP client; run it with `prloom start`")
        return ApiReader(ctx.http, endpoints.RepositoryUrls(self._repo), self._account, self._graphql_url)

    def _reader(self, ctx: BridgeContext) -> ApiReader:
        """Return the reader for the repository's name as of the last poll."""
        return replace(self._configured_reader(ctx), repository=self._repository)


def create(config: Config) -> GithubBridge:
    """Return the bridge for the table `[bridges.github]`; while no repository is known, it is idle."""
    return GithubBridge(config)


def _with_advice(error: HttpError, repo: str) -> HttpError:
    """Return the error of a whole poll, or of its first request, with a text that says what to do."""
    words = answers.message(error)
    match error.trouble:
        case "unauthorized":
            text = f"{answers.NOT_ACCEPTED} ({error})"
        case "gone":
            text = f"GitHub shows no repository {repo} to this token; fix `repo`, or give the token access ({error})"
        case "forbidden" if answers.sso_hint(error.headers) or error.status == _BLOCKED:
            text = f"GitHub does not let this token read {repo}: {words} ({error})"
        case "forbidden":
            rights = "docs/github.md names the rights that it needs"
            text = f"the token may not read the pull requests of {repo}: {words}; {rights} ({error})"
        case _:
            text = answers.describe(error)
    return error.reworded(text)
