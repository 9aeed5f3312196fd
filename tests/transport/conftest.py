"""A client in a world where time passes only when it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from prloom.api import HttpNeeds
from prloom.transport.client import Client
from prloom.transport.limits_store import LimitsStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Answers = Callable[[httpx.Request], httpx.Response]


@dataclass
class Wire:
    """A client, what it sent, and how long it waited."""

    answers: Answers = lambda request: httpx.Response(200, json={})
    token: str | None = "secret-token"
    needs: HttpNeeds = field(default_factory=lambda: HttpNeeds("https://api.example/v3", headers={"accept": "x/y"}))
    store: LimitsStore | None = None
    now: datetime = NOON

    def __post_init__(self) -> None:
        self.sent: list[httpx.Request] = []
        self.times: list[datetime] = []
        self.slept: list[float] = []
        self.client = Client(
            self.needs,
            self.token,
            clock=lambda: self.now,
            sleep=self.sleep,
            store=self.store,
            transport=httpx.MockTransport(self.handle),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        self.times.append(self.now)
        return self.answers(request)

    def told(self, name: str) -> list[str | None]:
        """Return what each request said in this header."""
        return [request.headers.get(name) for request in self.sent]


@pytest.fixture
def new_wire() -> Callable[..., Wire]:
    return Wire


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def noon() -> Iterator[Any]:
    return NOON
