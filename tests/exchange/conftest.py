"""The stores that the conformance suite runs against, and a clock that the test turns.

To have a store pass the suite, give it a row in STORES: a function that takes a folder of its own and a clock, and
opens the store. Opening twice in one folder gives two clients of one exchange, as two processes would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import postgres_server
import pytest

from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.postgres.store import PostgresStore
from prloom.exchange.protocol import ExchangeStore
from prloom.exchange.sqlite.store import SqliteStore


class Clock:
    """A time that stands until the test moves it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_(self, **how_long: float) -> None:
        self.time += timedelta(**how_long)


class Stores:
    """Opens stores on one exchange, and closes them at the end."""

    def __init__(self, opener: Callable[[Path, Clock], ExchangeStore], folder: Path, clock: Clock) -> None:
        self._opener = opener
        self._folder = folder
        self._clock = clock
        self._opened: list[ExchangeStore] = []

    def open(self) -> ExchangeStore:
        store = self._opener(self._folder, self._clock)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


def _memory() -> Callable[[Path, Clock], ExchangeStore]:
    kept: dict[Path, MemoryStore] = {}
    return lambda folder, clock: kept.setdefault(folder, MemoryStore(clock=clock))


def _sqlite(folder: Path, clock: Clock) -> ExchangeStore:
    return SqliteStore(folder / "exchange.db", clock=clock)


def _postgres() -> Callable[[Path, Clock], ExchangeStore]:
    url = postgres_server.url()
    return lambda folder, clock: PostgresStore(postgres_server.at(url, folder), clock=clock)


STORES: dict[str, Callable[[], Callable[[Path, Clock], ExchangeStore]]] = {
    "memory": _memory,
    "postgres": _postgres,
    "sqlite": lambda: _sqlite,
}


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    yield
    postgres_server.end()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=sorted(STORES))
def stores(request: Any, tmp_path: Path, clock: Clock) -> Iterator[Stores]:
    opened = Stores(STORES[request.param](), tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture
def exchange(stores: Stores) -> Exchange:
    return Exchange(stores.open())


@pytest.fixture
def another(stores: Stores, exchange: Exchange) -> Exchange:
    """A second client of the same exchange."""
    return Exchange(stores.open())
