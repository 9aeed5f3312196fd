"""Take feedback from pull requests on GitHub or a GitHub Enterprise Server, and answer there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field, field_validator

from prloom.api import (
    Action,
    BridgeContext,
    Delivered,
    Event,
    ExtensionError,
    HttpError,
    Json,
    Polled,
    PullRequest,
    React,
    Refused,
)

from . import deliver, forge, poll
from .account import TokenAccount
from .sansio import accounts, errors, reply_target, requests, urls
from .source import ApiReader

_BLOCKED = 451
_NO_REPOSITORY = 'no repository on GitHub is known; set `repo = "owner/name"` in [bridges.github]'


class Config(BaseModel):
    """The table `[bridges.github]`. Without a repository the bridge asks nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo: str = Field(default="", pattern=r"^([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)?$")
    api_url: str = urls.API
    acknowledge: str = "eyes"

    @field_validator("acknowledge")
    @classmethod
    def _one_of_githubs(cls, name: str) -> str:
        if name and requests.reaction_name(name) is None:
            raise ValueError(f'GitHub has no reaction {name!r}; it has {", ".join(requests.REACTIONS)}, or "" for none')
        return name


class GithubBridge:
    """One repository on GitHub; the rest of what it knows is in its cursor, and at GitHub."""

    name = "github"
    targets = (reply_target.TARGET,)
    poll_interval = timedelta(seconds=60)

    def __init__(self, config: Config) -> None:
        self.http = urls.needs(config.api_url)
        self._repo = config.repo
        self._acknowledge = config.acknowledge
        self._repository = urls.RepositoryUrls(config.repo)
        self._graphql = urls.graphql(config.api_url)
        self._account = TokenAccount()
        self._missed: set[int] = set()  # a hint for the next poll; what is lost of it is found in its turn

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Return what is new on all tracked pull requests; where there are none, nothing is asked."""
        if not self._repo:
            return Polled(idle=_NO_REPOSITORY)
        if not any(plan.pr for plan in ctx.plans):
            return Polled(idle="no plan has a pull request")
        self._account.doubt()
        try:
            missed = frozenset(self._missed)
            polled, self._repository = await poll.poll(ctx, self._source(ctx), state, missed)
        except HttpError as error:
            raise _clear(error, self._repo) from error
        self._missed -= missed
        return polled

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Carry out one action."""
        if not self._repo:
            return Refused(_NO_REPOSITORY)
        return await deliver.deliver(ctx, self._now_called(ctx), self._graphql, action, self._missed.add)

    def acknowledgement(self, event: Event) -> React | None:
        """Return the reaction by which a comment is acknowledged; GitHub takes none to a review."""
        where = None
        if event.reply_to is not None:
            where = reply_target.read(event.reply_to.token, None)
        is_comment = where is not None and bool(where.comment or where.inline)
        if self._acknowledge and is_comment:
            return React(self._acknowledge)
        return None

    async def permission(self, ctx: BridgeContext, login: str) -> str:
        """Return what somebody may do in the repository; nothing where GitHub knows no such account."""
        source = self._now_called(ctx)
        try:
            return accounts.permission((await source.get(source.repository.permission(login))).json())
        except HttpError as error:
            unknown = errors.mentions(error, "is not a user")
            if error.trouble == "gone" and (unknown or await source.sees_repository()):
                return "none"
            raise error.reworded(errors.explained(error)) from error

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open a pull request, or return the one that is open for the branch."""
        return await forge.open_(self._now_called(ctx), branch=branch, base=base, title=title, body=body, draft=draft)

    async def describe_pull_request(self, ctx: BridgeContext, number: int, *, title: str, body: str) -> None:
        """Replace the title and the body."""
        await forge.describe(self._now_called(ctx), number, title=title, body=body)

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        """Take the pull request out of draft."""
        await forge.mark_ready(self._now_called(ctx), self._graphql, number)

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        """Return the pull request, or None where GitHub says that there is none."""
        try:
            return await forge.read(self._now_called(ctx), number)
        except HttpError as error:
            raise _clear(error, self._repo) from error

    def _source(self, ctx: BridgeContext) -> ApiReader:
        if not self._repo:
            raise ExtensionError(_NO_REPOSITORY)
        if ctx.http is None:
            raise ExtensionError("the github bridge got no HTTP client; run it with `prloom start`")
        return ApiReader(ctx.http, urls.RepositoryUrls(self._repo), self._account)

    def _now_called(self, ctx: BridgeContext) -> ApiReader:
        """Return the source by the name that the last poll found the repository to have."""
        return replace(self._source(ctx), repository=self._repository)


def create(config: Config) -> GithubBridge:
    """Return the bridge."""
    return GithubBridge(config)


def _clear(error: HttpError, repo: str) -> HttpError:
    """Return the error of a whole poll, or of the first question of all, in words that say what to do."""
    said = errors.said(error)
    match error.trouble:
        case "unauthorized":
            text = f"{errors.REJECTED} ({error})"
        case "gone":
            text = f"GitHub shows no repository {repo} to this token; fix `repo`, or give the token access ({error})"
        case "forbidden" if errors.sso(error.headers) or error.status == _BLOCKED:
            text = f"GitHub does not let this token read {repo}: {said} ({error})"
        case "forbidden":
            rights = "docs/github.md names the rights that it needs"
            text = f"the token may not read the pull requests of {repo}: {said}; {rights} ({error})"
        case _:
            text = errors.explained(error)
    return error.reworded(text)
