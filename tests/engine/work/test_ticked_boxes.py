"""A box that a person ticks is cleared once prloom has heard of it, and never before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from stage import ListBridge, Stage, said

from prloom.api import Author, BridgeContext, Issue, Polled, PostedComment, PullRequest, ticked
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import pull_request
from prloom.model.pull_request import KeptPullRequest
from prloom.model.work import Block
from prloom.storage.safe_dir import SafeDir

PAUSE = "- [ ] pause the work on this plan"


class DescribedBridge(ListBridge):
    """A forge with one pull request, whose `body` and whose own `comment` people edit; `ticked` are reported boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = "Mine.\n"
        self.comment: str | None = None
        self.mark = ""
        self.ticked: dict[int, Sequence[str]] = {}
        self.written = 0

    async def events(self, ctx: BridgeContext, state: object) -> Polled:
        polled = await super().events(ctx, state)
        return Polled(polled.events, polled.state, ticked=dict(self.ticked))

    def unavailable(self) -> str | None:
        return None

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        raise NotImplementedError

    async def find_pull_request(self, ctx: BridgeContext, branch: str) -> PullRequest | None:
        raise NotImplementedError

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        return PullRequest(number, "A", self.body, "pr-7", "main", "open", "https://forge.example/7", "sha")

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        if expected == self.body:
            self.body, self.written = body, self.written + 1
        return self.body

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None: ...

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        return ()

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


@pytest.fixture
def forge(stage: Stage) -> DescribedBridge:
    found = DescribedBridge()
    stage.bridge, stage.bridges = found, [found]
    stage.todo_worker = Keeper()
    return found


def opened(local: Path, stage: Stage) -> None:
    """Have a pull request that prloom opened."""
    with SafeDir.make(local / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        store.commit("pull_request", "test", pull_request=KeptPullRequest(opened=True))
        store.save()


def report(forge: DescribedBridge, stage: Stage) -> None:
    """Let the next poll report that ann has ticked the box to pause."""
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("ann", "write")))
    forge.ticked = {7: ("pause",)}


async def test_the_cockpit_is_written_into_the_description_once(stage: Stage, forge: DescribedBridge) -> None:
    opened(stage.adopt(), stage)
    for _ in range(3):
        stage.clock.advance(minutes=1)
        await stage.tick()

    assert forge.written == 1
    assert forge.body.startswith("Mine.\n\n<!-- prloom:begin -->")
    assert PAUSE in forge.body


async def test_a_box_is_cleared_and_shows_what_came_of_it(stage: Stage, forge: DescribedBridge) -> None:
    opened(stage.adopt(), stage)
    await stage.tick()
    forge.body = forge.body.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    report(forge, stage)
    stage.clock.advance(minutes=1)
    await stage.tick()

    assert stage.state()["paused"]
    assert "**Paused.**" in forge.body
    assert ticked(forge.body) == ()


async def test_a_box_of_a_person_who_is_not_trusted_is_cleared_and_does_nothing(
    stage: Stage, forge: DescribedBridge
) -> None:
    opened(stage.adopt(), stage)
    await stage.tick()
    before = forge.body
    forge.body = forge.body.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=Author("eve", "none")))
    forge.ticked = {7: ("pause",)}
    stage.clock.advance(minutes=1)
    await stage.tick()

    assert forge.body == before
    assert not stage.state()["paused"]


async def test_a_box_of_which_no_event_has_come_is_not_cleared(stage: Stage, forge: DescribedBridge) -> None:
    opened(stage.adopt(), stage)
    await stage.tick()
    forge.body = forge.body.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    stage.bridge.news.append(said("other", "/prloom pause", author=Author("ann", "write")))  # so there is more to show
    stage.clock.advance(minutes=1)
    await stage.tick()

    assert ticked(forge.body) == ("pause",)
    report(forge, stage)
    stage.clock.advance(minutes=2)
    await stage.tick()
    assert ticked(forge.body) == ()
    assert "**Paused.**" in forge.body


async def test_a_pull_request_of_another_has_the_cockpit_in_one_comment(stage: Stage, forge: DescribedBridge) -> None:
    local = stage.adopt()
    with SafeDir.make(local / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        now = "2026-11-21T12:00:00.000Z"
        store.commit("work", "test", block=Block(reason="why not", since=now, way_on="prloom resume pr-7"))
        store.save()
    await stage.tick()
    assert forge.comment is not None
    forge.comment = forge.comment.replace(PAUSE, PAUSE.replace("[ ]", "[x]"))
    report(forge, stage)
    stage.clock.advance(minutes=1)
    await stage.tick()

    assert (forge.written, forge.body) == (2, "Mine.\n")
    assert "**Paused.**" in forge.comment
    assert ticked(forge.comment) == ()
    assert forge.mark.startswith("<!-- prloom:action a-")
