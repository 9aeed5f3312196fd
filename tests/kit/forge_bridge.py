"""A forge with the pull requests of one repository, in memory, which does what the protocol says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stage import ListBridge

from prloom.api import BridgeContext, Issue, PostedComment, PullRequest


class ForgeBridge(ListBridge):
    """A forge; `pulls` are its pull requests by number, `calls` what was asked of it, `down` makes it fail."""

    def __init__(self) -> None:
        super().__init__()
        self.pulls: dict[int, PullRequest] = {}
        self.calls: list[str] = []
        self.down = False

    def unavailable(self) -> str | None:
        return None

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.down:
            raise ConnectionError("the forge is down")

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        self._called("open")
        found = await self.find_pull_request(ctx, branch)
        if found is not None and found.state == "open":
            return found
        number = len(self.pulls) + 1
        url = f"https://forge.example/{number}"
        self.pulls[number] = PullRequest(number, title, body, branch, base, "open", url, "sha", draft=draft)
        return self.pulls[number]

    async def find_pull_request(self, ctx: BridgeContext, branch: str) -> PullRequest | None:
        found = [pull for pull in self.pulls.values() if pull.branch == branch]
        return max(found, key=lambda pull: (pull.state == "open", pull.number), default=None)

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        self._called("read")
        return self.pulls.get(number)

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        self._called("describe")
        pull = self.pulls[number]
        if expected is None or expected == pull.body:
            self.pulls[number] = replace(pull, body=body, title=title or pull.title)
        return self.pulls[number].body

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        self._called("ready")
        self.pulls[number] = replace(self.pulls[number], draft=False)

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        return tuple(pull for pull in self.pulls.values() if pull.state == "open")

    async def read_issue(self, ctx: BridgeContext, number: int) -> Issue | None:
        return None

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
        self._called("comment")
        return PostedComment("c-1", None, body)

    async def own_login(self, ctx: BridgeContext) -> str | None:
        return "prloom"
