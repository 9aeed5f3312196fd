"""The database's time, one for all its processes, which continues evenly when the machine's clock is set."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"  # random(4)
_TOLERANCE = 1_000_000  # microseconds that the machine's clock may be off before the database's follows it
_LEASED_OR_DELAYED = (
    "SELECT EXISTS (SELECT 1 FROM claims WHERE status = 'active')"
    " OR EXISTS (SELECT 1 FROM deliveries WHERE state = 'ready' AND available_at IS NOT NULL)"
)


STARTED = "(SELECT started FROM clock WHERE boot = ?)"
"""The column of which `at` makes the time, for any statement; its value is the clock's `boot`."""


def micros(moment: datetime) -> int:
    """Return a time as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def optional_micros(moment: datetime | None) -> int | None:
    """Return a time, or none, as it is stored."""
    if moment is None:
        return None
    return (moment - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Return the time that was stored."""
    return _EPOCH + timedelta(microseconds=stored)


def optional_moment(stored: int | None) -> datetime | None:
    """Return the time that was stored, if one was."""
    if stored is None:
        return None
    return _EPOCH + timedelta(microseconds=stored)


class GivenClock:
    """A clock that the caller gives, such as a test's."""

    boot = ""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def at(self, _: int | None) -> datetime:
        """Return the caller's time."""
        return self._clock()

    def now(self, _: sqlite3.Connection) -> datetime:
        """Return the caller's time."""
        return self._clock()

    def adrift(self, _: sqlite3.Connection) -> bool:
        """Return False: the caller's time is as it is."""
        return False

    def anchor(self, _: sqlite3.Connection) -> None:
        """Do nothing: the caller's time is as it is."""


class SteadyClock:
    """The time since the machine started, added to that start's time as the database stored it.

    So a lease has its full length even if the machine's clock is set meanwhile. `boot` names the machine's
    run, and is empty where the system does not say; then the machine's clock counts.
    """

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        since_boot: Callable[[], float] | None = None,
        boot: str | None = None,
    ) -> None:
        self._wall = wall
        self._since_boot = since_boot or _since_boot
        if boot is None:
            self.boot = _boot()
        else:
            self.boot = boot

    def at(self, started: int | None) -> datetime:
        """Return the database's time, by what it says of when the machine started."""
        if started is None:
            return datetime.fromtimestamp(self._wall(), UTC)
        return moment(self._now(started))

    def now(self, db: sqlite3.Connection) -> datetime:
        """Return the database's time."""
        if not self.boot:
            return self.at(None)
        return self.at(self._started(db))

    def _started(self, db: sqlite3.Connection) -> int | None:
        row: tuple[int | None] = db.execute(f"SELECT {STARTED}", (self.boot,)).fetchone()
        return row[0]

    def adrift(self, db: sqlite3.Connection) -> bool:
        """Whether `anchor` has something to do; only reads."""
        if not self.boot:
            return False
        started = self._started(db)
        if started is None:
            return True
        off = abs(self._wall_time() - self._now(started)) > _TOLERANCE
        return off and not db.execute(_LEASED_OR_DELAYED).fetchone()[0]

    def anchor(self, db: sqlite3.Connection) -> None:
        """Set the time by the machine's clock, after a start, or while no lease and no delay is counted by it."""
        if not self.adrift(db):
            return
        wall = self._wall_time()
        previous = db.execute("DELETE FROM clock RETURNING boot").fetchall()
        db.execute("INSERT INTO clock (boot, started) VALUES (?, ?)", (self.boot, wall - self._elapsed()))
        if previous != [(self.boot,)]:
            # Workers from before the machine started are gone.
            db.execute("UPDATE claims SET lease_until = min(lease_until, ?) WHERE status = 'active'", (wall,))

    def _wall_time(self) -> int:
        return int(self._wall() * 1_000_000)

    def _now(self, started: int) -> int:
        return started + self._elapsed()

    def _elapsed(self) -> int:
        return int(self._since_boot() * 1_000_000)


StoreClock: TypeAlias = GivenClock | SteadyClock


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:  # noqa: PTH123 (pathlib costs start-up time)
            if hasattr(time, "CLOCK_BOOTTIME"):
                return file.read().strip()
            return ""
    except OSError:
        return ""
