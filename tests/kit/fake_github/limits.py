"""GitHub's limits, primary and secondary, enforced to the letter: what it only advises is refused here too.

The numbers are from "Rate limits for the REST API" and "Best practices for using the REST API" of GitHub's manual.
One of them needs no rule here: who asks one thing after the other, as `concurrent` demands where GitHub allows 100,
cannot use up 90 seconds of its processors in 60. GraphQL, with 2,000 points a minute of its own, counts among the 900.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .exchange import Refusal

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@dataclass(frozen=True)
class Rules:
    """How much a client may do. `retry_after` None: a refusal does not say when to come back; then a minute is due."""

    per_hour: int = 5000
    points_per_minute: int = 900
    concurrent: int = 1
    write_gap: timedelta = timedelta(seconds=1)
    writes_per_minute: int = 80
    writes_per_hour: int = 500
    retry_after: timedelta | None = MINUTE
    status: int = 403


STRICT = Rules()
NONE = Rules(
    per_hour=10**9,
    points_per_minute=10**9,
    concurrent=10**9,
    write_gap=timedelta(0),
    writes_per_minute=10**9,
    writes_per_hour=10**9,
)


@dataclass
class Budget:
    """What one account has used of one resource since its hour began."""

    used: int = 0
    began: datetime | None = None

    def roll(self, now: datetime) -> None:
        if self.began is None or now >= self.reset(now):
            self.used, self.began = 0, now

    def reset(self, now: datetime) -> datetime:
        return (self.began or now) + HOUR


@dataclass
class Account:
    """What the limits remember of one account."""

    budgets: dict[str, Budget] = field(default_factory=lambda: {"core": Budget(), "graphql": Budget()})
    points: deque[tuple[datetime, int]] = field(default_factory=deque)
    writes: deque[datetime] = field(default_factory=deque)
    blocked_until: datetime | None = None
    told: bool = False
    in_flight: int = 0
    charged: int = 0


@dataclass
class Limits:
    """The limits of all accounts. `complaints` says, in words, what a well-behaved client would not have done."""

    rules: Rules = STRICT
    accounts: dict[str, Account] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def of(self, login: str) -> Account:
        return self.accounts.setdefault(login, Account())

    def enter(self, login: str) -> None:
        self.of(login).in_flight += 1

    def leave(self, login: str) -> None:
        self.of(login).in_flight -= 1

    def admit(self, login: str, resource: str, now: datetime, *, write: bool, what: str) -> None:
        """Let the request pass and count its points, or raise the refusal."""
        account, rules = self.of(login), self.rules
        budget = account.budgets[resource]
        budget.roll(now)
        if account.blocked_until and now < account.blocked_until:
            if account.told:
                self.complaints.append(f"{what}: {account.blocked_until - now} before it may come back after a refusal")
            account.told = True
            raise self.secondary(account, now)
        if budget.used >= rules.per_hour:
            self.complaints.append(f"{what}: nothing remains until {budget.reset(now):%H:%M:%S}")
            raise Refusal(rules.status, f"API rate limit exceeded for user {login}.")
        trespass = self.trespass(account, now, write=write)
        if trespass:
            self.complaints.append(f"{what}: {trespass}")
            raise self.block(account, now)
        account.points.append((now, 5 if write else 1))
        if write:
            account.writes.append(now)

    def trespass(self, account: Account, now: datetime, *, write: bool) -> str | None:
        """Return which secondary limit the request would break."""
        rules = self.rules
        forget(account, now)
        if account.in_flight > rules.concurrent:
            return f"{account.in_flight} requests at once"
        if sum(points for _, points in account.points) + (5 if write else 1) > rules.points_per_minute:
            return f"more than {rules.points_per_minute} points in a minute"
        if not write:
            return None
        if account.writes and now - account.writes[-1] < rules.write_gap:
            return f"a write {(now - account.writes[-1]).total_seconds():g} s after another"
        if sum(now - at < MINUTE for at in account.writes) >= rules.writes_per_minute:
            return f"more than {rules.writes_per_minute} writes in a minute"
        if len(account.writes) >= rules.writes_per_hour:
            return f"more than {rules.writes_per_hour} writes in an hour"
        return None

    def block(self, account: Account, now: datetime) -> Refusal:
        """Refuse everything of this account for a while."""
        account.blocked_until, account.told = now + (self.rules.retry_after or MINUTE), True
        return self.secondary(account, now)

    def surprise(self, login: str, until: datetime) -> None:
        """Refuse everything of this account until then; its first request could not know."""
        account = self.of(login)
        account.blocked_until, account.told = until, False

    def secondary(self, account: Account, now: datetime) -> Refusal:
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        if self.rules.retry_after is None or account.blocked_until is None:
            return Refusal(self.rules.status, message)
        wait = math.ceil((account.blocked_until - now).total_seconds())
        return Refusal(self.rules.status, message, retry_after=str(wait))

    def charge(self, login: str, resource: str) -> None:
        account = self.of(login)
        account.budgets[resource].used += 1
        account.charged += 1

    def headers(self, login: str, resource: str, now: datetime) -> dict[str, str]:
        numbers = self.overview(login, resource, now)
        return {f"x-ratelimit-{name}": str(value) for name, value in numbers.items()} | {
            "x-ratelimit-resource": resource
        }

    def overview(self, login: str, resource: str, now: datetime) -> dict[str, int]:
        budget = self.of(login).budgets[resource]
        budget.roll(now)
        left = max(0, self.rules.per_hour - budget.used)
        reset = math.ceil(budget.reset(now).timestamp())
        return {"limit": self.rules.per_hour, "remaining": left, "reset": reset, "used": budget.used}


def forget(account: Account, now: datetime) -> None:
    while account.points and now - account.points[0][0] >= MINUTE:
        account.points.popleft()
    while account.writes and now - account.writes[0] >= HOUR:
        account.writes.popleft()
