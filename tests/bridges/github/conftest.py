"""A GitHub of our own, a bridge to it, and the host's client between them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fake_github import STRICT, Clock, Hub, Rules

from prloom.api import (
    Action,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    HttpNeeds,
    Payload,
    Polled,
    Refused,
    Target,
    TrackedPlan,
)
from prloom.core.delivery.outbox import action_id
from prloom.extensions import bridges
from prloom.testing.bridge_scene import MemoryFiles
from prloom.transport.client import Client

ROOT = Path(__file__).parents[3]


@cache
def module() -> Any:
    """Return the bridge's module as the host loads it: once, because that takes longer than most tests."""
    loaded = bridges.load({"local": {"enabled": False}, "github": {}}, repo_root=ROOT)
    assert not loaded.failed, loaded.failed
    return sys.modules[type(loaded.loaded[0].bridge).__module__]


@pytest.fixture(scope="session", autouse=True)
def _module_for_all_tests() -> None:
    module()


def load(**settings: Any) -> Any:
    """Return a bridge of the test's own."""
    own = module()
    return own.create(own.Config(**settings))


@dataclass
class BridgeRuntime:
    """The bridge at work on one repository: time passes when the client waits, and when a test says so."""

    hub: Hub
    clock: Clock
    login: str = "ada"
    repo: str = "ada/engine"
    tracked: list[int] = field(default_factory=list)
    state: Any = None
    adopted: str = "2026-01-01T11:00:00Z"
    cockpit: str | None = None

    def __post_init__(self) -> None:
        self.token = self.hub.token(self.login)
        self.bridge = load(repo=self.repo, api_url=self.hub.api_url)
        self.client = self.connect()

    def connect(self) -> Client:
        needs: HttpNeeds = self.bridge.http
        return Client(needs, self.token, clock=self.clock, sleep=self.sleep, transport=self.hub.transport())

    async def sleep(self, seconds: float) -> None:
        self.clock.now += timedelta(seconds=seconds)

    def track(self, *pulls: Any) -> None:
        self.tracked += [pull.number for pull in pulls]

    def context(self, *, pr: int | None = None, uncertain: bool = False) -> BridgeContext:
        plans = [
            TrackedPlan(
                f"pr-{number}",
                "topic",
                Path("/repo/w"),
                MemoryFiles(),
                number,
                self.adopted,
                cockpit=self.cockpit,
            )
            for number in self.tracked
        ]
        plan = next((plan for plan in plans if plan.pr == pr), None)
        return BridgeContext(
            Path("/repo"), tuple(plans), self.clock.now, plan=plan, uncertain=uncertain, http=self.client
        )

    async def poll(self, **later: float) -> list[Event]:
        """Poll, a minute after the last time; the cursor goes to the disk and back."""
        self.clock.advance(**(later or {"minutes": 1}))
        polled: Polled = await self.bridge.events(self.context(), self.state)
        self.state = json.loads(json.dumps(polled.state))
        return list(polled.events)

    async def act(
        self, target: Target | None, payload: Payload, *, ordinal: int = 0, uncertain: bool = False
    ) -> Delivered | Refused:
        """Let the bridge carry out an action."""
        where = target or Target("github", {"pr": self.tracked[0]})
        action = Action(id=action_id("an-event", "test", ordinal), target=where, payload=payload)
        return await self.bridge.actions(self.context(pr=self.tracked[0], uncertain=uncertain), action)

    async def say(self, target: Target | None, text: str = "Done.", **more: Any) -> Delivered | Refused:
        return await self.act(target, Comment(text), **more)

    def requests(self) -> list[str]:
        """Return what was asked since the last look, and forget it."""
        asked = [str(each) for each in self.hub.asked]
        self.hub.asked.clear()
        return asked


def make_runtime(
    *,
    rules: Rules = STRICT,
    login: str = "ada",
    repo: str = "ada/engine",
    ahead: timedelta = timedelta(0),
    **hub: Any,
) -> BridgeRuntime:
    """Return a runtime whose clock is ahead of GitHub's by this."""
    clock = Clock()
    return BridgeRuntime(Hub(lambda: clock() - ahead, limits=rules, **hub), clock, login, repo)


@pytest.fixture
def runtime() -> Iterator[BridgeRuntime]:
    """The bridge, and `ada/engine` where `ann` may write and `eve` may read."""
    made = make_runtime()
    made.hub.person("ann", "write")
    made.hub.person("eve", "read")
    yield made
    made.hub.verify()
    assert not made.hub.complaints


@pytest.fixture
def new_runtime() -> Any:
    return make_runtime
