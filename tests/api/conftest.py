"""Builders for the tests of what authors import; of the session's scope, so that property tests may use them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from prloom.model.event import Author, Event, Target
from prloom.model.hook import HookCall

NOW = "2026-11-21T12:00:00.000Z"


def _event(event_id: str = "e1", **values: object) -> Event:
    usual = Event(
        id=event_id,
        source="github",
        type="pr_comment",
        body="please",
        reply_to=Target("github", {"comment": event_id}),
        author=Author("ann", "write"),
    )
    return replace(usual, **values)


def _call(*events: Event, hook: str = "beforeTriage", **values: object) -> HookCall:
    usual = HookCall(
        hook=hook, plan_id="pr-7", repo_root="/repo", worktree="/repo/tree", now=NOW, plan="# Plan\n", events=events
    )
    return replace(usual, **values)


class FakeServices:
    """Services that answer with what they were asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        self.asked.append((prompt, files, stage, model))
        return "done"

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        self.asked.append((types, since_id, limit))
        return (_event("old"),), "old"

    def read_plan(self, plan_id: str) -> str:
        self.asked.append(plan_id)
        return f"# {plan_id}\n"


@pytest.fixture(scope="session")
def an_event() -> Callable[..., Event]:
    return _event


@pytest.fixture(scope="session")
def a_call() -> Callable[..., HookCall]:
    return _call


@pytest.fixture
def services() -> FakeServices:
    return FakeServices()
