"""Builders for the tests of what authors import; of the session's scope, so that property tests may use them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import values

from prloom.model.event import Event
from prloom.model.hook import HookCall


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
        return (values.an_event("old"),), "old"

    def read_plan(self, plan_id: str) -> str:
        self.asked.append(plan_id)
        return f"# {plan_id}\n"


@pytest.fixture(scope="session")
def an_event() -> Callable[..., Event]:
    return values.an_event


@pytest.fixture(scope="session")
def a_call() -> Callable[..., HookCall]:
    return values.a_call


@pytest.fixture
def services() -> FakeServices:
    return FakeServices()
