"""What a run leaves is written as soon as a full disk has room, but no run is kept for that for ever."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass
from datetime import timedelta

import pytest

from prloom.agents import disk_room
from prloom.errors import AgentError
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.worker.lease import Lease

MINUTE = timedelta(minutes=1)


@dataclass
class Signals:
    """Signals of a worker that is not asked to stop; a wait takes no time."""

    stops: int = 0
    waits: int = 0

    def wait(self, seconds: float) -> None:
        self.waits += 1
        assert self.waits < 10, "it waits for ever"


class Disk:
    """A disk that is full for so many writes."""

    def __init__(self, full: float) -> None:
        self.full = full

    def write(self) -> None:
        self.full -= 1
        if self.full >= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def lease(length: timedelta = MINUTE) -> Lease:
    exchange = Exchange(MemoryStore())
    exchange.publish("agent.worker", "x")
    claimed = exchange.claim("agent.worker")
    assert claimed is not None
    return Lease(claimed, length, since=time.monotonic(), wake=lambda: None, store=exchange.store)


def test_it_is_written_when_there_is_room_and_said_once_that_it_waits(caplog: pytest.LogCaptureFixture):
    signals = Signals()

    disk_room.wait(lease(), signals, Disk(3).write)

    assert signals.waits == 3
    (said,) = caplog.messages
    assert said.endswith("cannot be written down: No space left on device; it waits for room on the disk")


@pytest.mark.parametrize(("length", "stops"), [(timedelta(), 0), (MINUTE, 1)], ids=["lost", "to stop"])
def test_a_run_that_is_lost_and_a_worker_that_is_to_stop_wait_for_no_room(length: timedelta, stops: int):
    signals = Signals(stops)

    disk_room.wait(lease(length), signals, Disk(float("inf")).write)

    assert signals.waits == 0


def test_a_disk_that_stays_full_ends_the_wait_after_a_while():
    with pytest.raises(AgentError, match="cannot be written: No space left on device; make room on this machine's"):
        disk_room.wait(lease(), Signals(), Disk(float("inf")).write, patience=0.0)


def test_any_other_error_means_that_it_cannot_be_written_at_all():
    def gone() -> None:
        raise FileNotFoundError

    disk_room.wait(lease(), Signals(), gone)
