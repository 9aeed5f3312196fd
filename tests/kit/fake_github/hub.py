"""A GitHub of one's own, to be driven by a test on one side and by a client on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import httpx

from . import tokens
from .api import Api
from .contract import ContractBroken
from .exchange import Outcome, Request
from .faults import Effect, Trigger
from .happenings import Happenings
from .limits import STRICT, Limits, Rules
from .request_log import LoggedRequest
from .things import Account, Post, Repository, Token
from .transport import Transport
from .world import Urls, World

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


class Hub(Happenings):
    """The repository `ada/engine` (number 1000) with its owner and a branch, and nothing else yet.

    `clock` says the time; nothing here waits. `api_url` may have a base path, as that of GitHub Enterprise has.
    """

    def __init__(
        self,
        clock: Callable[[], datetime],
        *,
        api_url: str = "https://api.github.com",
        web_url: str = "https://github.com",
        limits: Rules = STRICT,
        private: bool = False,
    ) -> None:
        owner = Account(login="ada", id=1, role="admin")
        repository = Repository(
            id=1000, owner=owner, name="engine", private=private, created_at=EPOCH, updated_at=EPOCH, pushed_at=EPOCH
        )
        world = World(urls=Urls(api=api_url, web=web_url), repository=repository, limits=Limits(limits))
        world.accounts["ada"] = owner
        repository.branches["main"] = world.next_sha()
        super().__init__(world, clock)
        self.api = Api(world)

    # people

    def person(self, login: str, role: str = "none", *, hint: str | None = None) -> Account:
        """Let there be a person; a login that ends in `[bot]` may be one too."""
        self.world.changed()
        account = self.who(login)
        account.role, account.hint = role, hint
        return account

    def bot(self, login: str, role: str = "none") -> Account:
        """Let there be a bot: an account of type Bot, whatever its login."""
        account = self.person(login, role)
        account.type = "Bot"
        return account

    def forget(self, login: str) -> None:
        """Delete the account; what it wrote stays, by nobody."""
        self.world.changed()
        self.who(login).exists = False

    def token(self, login: str, *, permissions: Mapping[str, str] | None = None, kind: str = "user") -> str:
        """Return a token of the account: a classic one, or one that has only these permissions.

        `kind` "app": the installation token of a GitHub App, which cannot ask who it is.
        """
        value = f"ghp_{len(self.world.tokens) + 1:036d}"
        self.world.tokens[value] = Token(value=value, account=self.who(login), kind=kind, permissions=permissions)
        return value

    def revoke(self, token: str) -> None:
        del self.world.tokens[token]

    # the wire

    @property
    def api_url(self) -> str:
        return self.world.urls.api

    def handle(self, request: Request) -> Outcome:
        return self.api.handle(request, self.clock())

    def enter(self, request: Request) -> None:
        """Count a request that began, for the limit of those at once; `leave` when its answer was given."""
        self.world.limits.enter(tokens.login(self.world, request))

    def leave(self, request: Request) -> None:
        self.world.limits.leave(tokens.login(self.world, request))

    def transport(self) -> Transport:
        """Return what an httpx client, of either kind, can use in place of the network."""
        return Transport(self)

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """Return a client that reaches the fake without a socket."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=self.transport(), base_url=self.api_url, headers=headers)

    # what goes wrong

    def before_next(self, effect: Effect, *, on: str = "*", skip: int = 0, times: int = 1) -> None:
        """Let `effect` happen just before a request is carried out, or be the answer in place of that.

        `on` is a pattern of method and path (`POST */issues/7/comments`); `skip` requests that fit pass first.
        """
        self.api.script.triggers.append(Trigger("before", effect, on, skip, times))

    def after_next(self, effect: Effect, *, on: str = "*", skip: int = 0, times: int = 1) -> None:
        """Let `effect` happen just after a request was carried out, or be what the client hears of it."""
        self.api.script.triggers.append(Trigger("after", effect, on, skip, times))

    def slow_down(self, login: str, wait: timedelta) -> None:
        """Refuse all requests of the account for a while, by a secondary limit that its client could not foresee."""
        self.world.limits.surprise(login, self.clock() + wait)

    # what can be seen afterwards

    @property
    def asked(self) -> list[LoggedRequest]:
        """All requests to the API so far; clear it to look at those that follow."""
        return self.api.asked

    @property
    def elsewhere(self) -> list[LoggedRequest]:
        """All requests to other hosts: the storage of logs, and wherever a redirect led."""
        return self.api.elsewhere

    @property
    def charged(self) -> int:
        """How many of the requests counted against the hourly limit."""
        return sum(each.charged for each in self.asked)

    @property
    def complaints(self) -> list[str]:
        """What a well-behaved client would not have done."""
        return self.world.limits.complaints

    @property
    def broken(self) -> list[str]:
        """What was not as GitHub describes it, of requests and responses."""
        return self.api.broken

    def verify(self) -> None:
        """Raise if anything was not as GitHub describes it: for the end of a test, whose client may have caught it."""
        if self.broken:
            raise ContractBroken("\n".join(self.broken))

    def posts(self, by: str) -> Sequence[Post]:
        """Return all comments, inline comments and reviews of an account, in the order of their numbers."""
        world, author = self.world, self.who(by)
        found: list[Post] = [*world.comments.values(), *world.review_comments.values(), *world.reviews.values()]
        return sorted((post for post in found if post.author is author), key=lambda post: post.id)
