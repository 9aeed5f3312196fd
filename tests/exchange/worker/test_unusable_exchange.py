"""A worker whose exchange cannot be used waits longer each time, and anew once the exchange was used."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from prloom.exchange import connect
from prloom.exchange.errors import StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.worker.config import ClaimConfig
from prloom.exchange.worker.job import WorkerIdentity
from prloom.exchange.worker.worker import Worker, WorkerError, WorkerEvent


class FailingExchange(Exchange):
    """An exchange without messages, which can be used as often as it is told: the first look succeeds."""

    def __init__(self, exchange: Exchange, works: Iterator[bool]) -> None:
        super().__init__(exchange.store)
        self._works = works

    def claim(self, *topics: Any, **limits: Any) -> Any:
        if not next(self._works):
            raise StoreError("the disk is full")


class PassingTime:
    """The signals of a worker that is asked to stop after some waits; a wait is over at once."""

    wake = -1

    def __init__(self, waits: int) -> None:
        self._left = waits

    @property
    def stops(self) -> bool:
        return self._left == 0

    def wait(self, seconds: float, *descriptors: int) -> None:
        self._left -= 1


def pauses(folder: Path, works: list[bool]) -> list[float]:
    """Return how long a worker waits after each failure of an exchange."""
    reported: list[WorkerEvent] = []
    identity = WorkerIdentity(worker="w", exchange="x", adopted=False, spared=())
    config = ClaimConfig(topics=("work",), lease=timedelta(minutes=1))
    jobs: Any = None  # there is no message to work on
    signals: Any = PassingTime(len(works))
    with connect(folder / "x.db") as opened:
        exchange = FailingExchange(opened, iter(works))
        Worker(config, jobs, exchange, signals, identity, report=reported.append).run(once=False)
    return [event.pause for event in reported if isinstance(event, WorkerError)]


def test_each_wait_is_twice_the_last_one_up_to_half_a_minute(tmp_path: Path) -> None:
    assert pauses(tmp_path, [True, *[False] * 8]) == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_after_the_exchange_was_used_the_first_wait_is_short_again(tmp_path: Path) -> None:
    assert pauses(tmp_path, [True, False, False, True, False]) == [0.5, 1, 0.5]
