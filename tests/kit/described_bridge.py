"""A forge with one pull request, which people and prloom describe."""

from __future__ import annotations

from collections.abc import Sequence

from forge_bridge import ForgeBridge

from prloom.api import BridgeContext, Polled, PostedComment, PullRequest
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import pull_request


class DescribedBridge(ForgeBridge):
    """A forge with one pull request, whose `body` and whose own `comment` people edit.

    `ticked` are the boxes that are reported; `gone` says that the forge has no such pull request any more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = "Mine.\n"
        self.comment: str | None = None
        self.mark = ""
        self.ticked: dict[int, Sequence[str]] = {}
        self.written = 0
        self.gone = False

    async def events(self, ctx: BridgeContext, state: object) -> Polled:
        polled = await super().events(ctx, state)
        heads = {7: "a" * 40}
        return Polled(polled.events, polled.state, heads=heads, ticked=dict(self.ticked), bases=dict(self.bases))

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        if self.gone:
            return None
        return PullRequest(number, "A", self.body, "pr-7", "main", "open", "https://forge.example/7", "sha")

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        if expected == self.body:
            self.body, self.written = body, self.written + 1
        return self.body

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None: ...

    async def upsert_comment(
        self, ctx: BridgeContext, number: int, *, marker: str, body: str, expected: str | None = None, **more: object
    ) -> PostedComment:
        if self.comment is None or self.comment == expected:
            self.comment, self.mark, self.written = body, marker, self.written + 1
        return PostedComment("c-1", None, self.comment)

    async def own_login(self, ctx: BridgeContext) -> str | None:
        return "ada"


class Keeper:
    """Keeps pull requests, and does no work."""

    def begin(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        return False

    def keep_pull_request(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        return pull_request.begin(runtime, dependencies)

    def take_usable(self) -> frozenset[str]:
        return frozenset()

    async def close(self) -> None:
        return
