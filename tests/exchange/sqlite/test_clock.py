from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.clock import SteadyClock
from prloom.exchange.sqlite.store import SqliteStore

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Machine:
    """A computer whose clock can be set, and that can be started anew."""

    def __init__(self, path: Path) -> None:
        self.wall = START.timestamp()
        self.up = 1000.0
        self.boot = "first"
        self._path = path
        self._opened: list[Exchange] = []

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.up += seconds

    def restart(self) -> None:
        self.up, self.boot = 5.0, self.boot + "+"

    def open(self) -> Exchange:
        clock = SteadyClock(wall=lambda: self.wall, since_boot=lambda: self.up, boot=self.boot)
        self._opened.append(Exchange(SqliteStore(self._path / "exchange.db", time=clock)))
        return self._opened[-1]

    def close(self) -> None:
        for each in self._opened:
            each.close()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.close()


def test_the_time_is_the_machines(machine: Machine):
    exchange = machine.open()
    machine.pass_(5)

    assert exchange.store.now() == START + timedelta(seconds=5)


@pytest.mark.parametrize("jump", [-7200, 7200])
def test_a_lease_lasts_as_long_as_it_was_given_for_though_the_clock_is_set(machine: Machine, jump: int):
    exchange = machine.open()
    exchange.publish("work", "x")
    assert exchange.claim("work", lease=MINUTE) is not None
    machine.wall += jump
    another = machine.open()
    machine.pass_(50)
    assert another.store.expire() == 0

    machine.pass_(10)

    assert another.store.expire() == 1


def test_a_delay_lasts_as_long_as_it_was_given_for_though_the_clock_is_set(machine: Machine):
    exchange = machine.open()
    exchange.publish("work", "x", delay=MINUTE)
    machine.wall -= 7200
    machine.pass_(60)

    assert machine.open().claim("work") is not None


def test_the_time_follows_the_machines_clock_when_nothing_is_counted_by_it(machine: Machine):
    first = machine.open()
    machine.wall += 7200

    second = machine.open()

    assert first.store.now() == second.store.now() == START + timedelta(hours=2)


def test_leases_from_before_the_machine_was_started_are_over(machine: Machine):
    exchange = machine.open()
    published = exchange.publish("work", "x")
    exchange.claim("work", lease=timedelta(hours=5))
    machine.restart()
    machine.wall -= 7200  # its clock has no battery

    assert machine.open().inspect(published.id).claims[0].status == "expired"


def test_without_a_boot_id_the_machines_clock_is_the_time(tmp_path: Path):
    clock = SteadyClock(wall=START.timestamp, boot="")

    exchange = Exchange(SqliteStore(tmp_path / "exchange.db", time=clock))

    assert exchange.publish("work", "x").created_at == START
    exchange.close()


def test_the_real_clock_is_about_right(tmp_path: Path):
    exchange = Exchange(SqliteStore(tmp_path / "exchange.db"))

    assert abs(exchange.store.now() - datetime.now(UTC)) < timedelta(seconds=30)
    exchange.close()
