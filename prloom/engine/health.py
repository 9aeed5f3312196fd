"""Bear what keeps the parts of a tick from their work, and tell it: in the log, and to `prloom status`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from prloom import errors
from prloom.engine.plan_registry import GoneError
from prloom.errors import PrloomError
from prloom.storage.health_file import HealthFile
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger("prloom.engine.dispatcher")


SLOW = timedelta(seconds=5)
"""A tick that takes longer than this is told of; it only begins what takes time, and writes down what was decided."""


class Health:
    """The trouble of each part, or none; until `begin`, it is told in the log only."""

    def __init__(self) -> None:
        self._of: dict[str, str | None] = {}
        self._alarm: HealthFile | None = None

    def begin(self, local: SafeDir) -> None:
        """Let others read from now on what is wrong; raises StorageError."""
        self._alarm = HealthFile(local)

    def bear(self, part: Callable[[], None]) -> None:
        """Do a part of a tick; whatever goes wrong is told where it is new. Raises GoneError."""
        name, trouble = part.__name__, None
        try:
            part()
        except GoneError:
            raise
        except PrloomError as error:
            trouble = str(error)
            if trouble != self._of.get(name):
                log.warning("%s", trouble)
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            trouble = errors.describe(error)
            if trouble != self._of.get(name):
                errors.log_failure(log, error, "the dispatcher continues without it")
        self._of[name] = trouble

    def tell(self, took: timedelta, *others: str | None) -> None:
        """Let others read what is wrong with this as a whole, also where no file can be written."""
        seconds = took.total_seconds()
        slow = None
        if took > SLOW:
            slow = f"the last tick took {seconds:.0f} s; check what slows down the disk or the machine"
        if self._alarm is not None:
            self._alarm.tell(next(filter(None, (*self._of.values(), *others, slow)), None))

    def close(self) -> None:
        """Take back what was told."""
        if self._alarm is not None:
            self._alarm.close()
