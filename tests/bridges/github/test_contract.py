"""The bridge to GitHub keeps the promises that every bridge makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from prloom.api import BridgeContext
from prloom.testing.bridge_contract import BridgeContract
from prloom.testing.bridge_scene import Scene, a_plan


class GithubScene(Scene):
    """One pull request of `ada/engine`; `eve` speaks there, and the bridge has the account of `ada`."""

    def __init__(self, new_runtime: Callable[[], Any]) -> None:
        self.runtime = new_runtime()
        self.pull = self.runtime.hub.pull()
        super().__init__(make=self.remade, plan=a_plan(f"pr-{self.pull.number}", pr=self.pull.number))

    def remade(self) -> Any:
        self.runtime.client = self.runtime.connect()
        return self.runtime.bridge

    def say(self, text: str) -> None:
        self.runtime.clock.advance(seconds=3)
        self.runtime.hub.comment(self.pull, "eve", text)

    def posted(self) -> str:
        return "\n".join(post.body for post in self.runtime.hub.posts("ada"))

    def context(self, *, uncertain: bool = False) -> BridgeContext:
        now, http = self.runtime.clock.now, self.runtime.client
        given = super().context(uncertain=uncertain)
        return BridgeContext(given.repo_root, given.plans, now, plan=self.plan, uncertain=uncertain, http=http)


class TestGithub(BridgeContract):
    """Against the fake, with all of its limits."""

    @pytest.fixture(autouse=True)
    def _desks(self, new_runtime: Callable[[], Any]) -> None:
        self.new_runtime = new_runtime

    def scene(self) -> Scene:
        return GithubScene(self.new_runtime)


def test_a_bridge_without_a_repository_sends_no_request(new_runtime: Callable[..., Any]) -> None:
    runtime = new_runtime(repo="")
    runtime.track(runtime.hub.pull())

    events, refused = asyncio.run(runtime.poll()), asyncio.run(runtime.say(None))

    assert (events, runtime.hub.asked) == ([], [])
    assert refused.error == 'no repository on GitHub is known; set `repo = "owner/name"` in [bridges.github]'


def test_a_bridge_with_nothing_to_ask_says_why(new_runtime: Callable[..., Any]) -> None:
    nowhere, nothing = new_runtime(repo=""), new_runtime()
    nowhere.track(nowhere.hub.pull())

    reasons = [asyncio.run(each.bridge.events(each.context(), None)).idle for each in (nowhere, nothing)]

    assert reasons == [
        'no repository on GitHub is known; set `repo = "owner/name"` in [bridges.github]',
        "no plan has a pull request",
    ]
