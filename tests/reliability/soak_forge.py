"""The forge of the soak: pull requests whose heads are those of a bare repository, with news, failures and merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from forge_bridge import ForgeBridge

from prloom.api import Action, Author, BridgeContext, Delivered, Event, Polled, PullRequest, Refused, Target
from prloom.core.pull_requests import cockpit_markers


class SoakForge(ForgeBridge):
    """A forge that is down at times, and that at times does what it is asked and breaks off before it says so."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._chance = Random(f"{seed}/forge")
        self.lossy = False
        self.opened: Counter[str] = Counter()
        self._numbers = 0
        self._unreported: list[Event] = []

    def tell(self, kind: str, pull: PullRequest | int, body: str = "", **fields: Any) -> Event:
        """Report an event about a pull request, and return it."""
        self._numbers += 1
        number = pull if isinstance(pull, int) else pull.number
        about: dict[str, Any] = {
            "reply_to": Target(self.name, {"pr": number, "thread": f"T{self._numbers}"}),
            "context": {"thread": f"T{self._numbers}"} if kind == "pr_review_comment" else {},
        }
        event = Event(
            id=f"forge:{self._numbers}", source=self.name, type=kind, body=body, pr=number, **{**about, **fields}
        )
        self._unreported.append(event)
        return event

    def comment(self, pull: PullRequest, login: str, body: str, *, trust: str = "write", bot: bool = False) -> Event:
        """Have somebody comment; every third comment is on a line of the diff."""
        kind = "pr_review_comment" if self._numbers % 3 == 0 else "pr_comment"
        return self.tell(kind, pull, body, author=Author(login, trust, bot=bot))

    def see(self, heads: Mapping[str, str]) -> None:
        """Look at the branches: new heads of open pull requests are reported."""
        for pull in list(self.pulls.values()):
            head = heads.get(pull.branch)
            if head is None or head == pull.head or pull.state != "open":
                continue
            self.pulls[pull.number] = replace(pull, head=head)
            if pull.head != "sha":
                self.tell("pr_pushed", pull, context={"commit": head, "before": pull.head}, reply_to=None)
            self.heads[pull.number] = head

    def end(self, number: int, state: str) -> None:
        """Merge, close or reopen a pull request."""
        self.pulls[number] = replace(self.pulls[number], state=state)
        self.tell({"merged": "pr_merged", "closed": "pr_closed", "open": "pr_reopened"}[state], number, reply_to=None)

    # ---- what prloom calls

    async def events(self, ctx: BridgeContext, state: Any) -> Polled:
        if self.down:
            raise ConnectionError("the forge is down")
        ours = {plan.pr for plan in ctx.plans}  # of other pull requests, a bridge reports nothing
        self.news += [event for event in self._unreported if event.pr in ours]
        self._unreported = [event for event in self._unreported if event.pr not in ours]
        polled = await super().events(ctx, state)
        ticked = {pull.number: cockpit_markers.ticked(pull.body) for pull in self.pulls.values()}
        return replace(polled, ticked=ticked)

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if self.down:
            return Refused("the forge is down", retryable=True)
        if self.lossy and self._chance.random() < 0.3:
            raise ConnectionError("the connection was cut before the request")
        answer = await super().actions(ctx, action)
        if self.lossy and self._chance.random() < 0.3:
            raise ConnectionError("the connection was cut before the answer")
        return answer

    async def open_pull_request(self, ctx: BridgeContext, **about: Any) -> PullRequest:
        before = len(self.pulls)
        found = await super().open_pull_request(ctx, **about)
        if len(self.pulls) > before:
            self.opened[found.branch] += 1
        if self.lossy and self._chance.random() < 0.3:
            raise ConnectionError("the connection was cut before the answer")
        return found
