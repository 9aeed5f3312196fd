"""Run the phases of a dispatcher's tick, and report the errors of the dispatcher as a whole."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from prloom import errors
from prloom.errors import AlreadyRunningError, FolderRemovedError, PrloomError, StorageError, UnsafePathError
from prloom.storage.health_file import HealthFile
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

SLOW = timedelta(seconds=5)
"""A tick that takes longer than this is reported: it only begins what takes time, and writes what was decided."""


class Health:
    """Runs the phases of a tick, and keeps the error of each; until `begin`, errors are only logged."""

    def __init__(self) -> None:
        self._errors: dict[str, str | None] = {}
        self._folder: SafeDir | None = None
        self._file: HealthFile | None = None

    def begin(self, local: SafeDir) -> None:
        """Let other commands read the errors from now on; while that cannot be, they are only logged."""
        self._folder = local
        try:
            self._file = HealthFile(local)
        except StorageError as error:
            log.warning("%s", error)

    def run(self, phase: Callable[[], None]) -> None:
        """Run a phase of a tick; log its error if it is a new one.

        Raises FolderRemovedError and AlreadyRunningError, after which there is nothing to run any more.
        """
        name, problem = phase.__name__, None
        try:
            phase()
        except (FolderRemovedError, AlreadyRunningError):
            raise
        except PrloomError as error:
            problem = str(error)
            if problem != self._errors.get(name):
                log.warning("%s", problem)
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            problem = errors.describe(error)
            if problem != self._errors.get(name):
                errors.log_failure(log, error, "the dispatcher continues without it")
        self._errors[name] = problem

    def run_report(self, phase: Callable[[], None]) -> None:
        """Run a phase that only writes reports: something in a file's place is logged once.

        Raises PrloomError of what else is wrong, such as a full disk.
        """
        problem = None
        try:
            phase()
        except UnsafePathError as error:
            problem = str(error)
            if problem != self._errors.get(phase.__name__):
                log.warning("%s", problem)
        self._errors[phase.__name__] = problem

    def report(self, took: timedelta, *others: str | None) -> None:
        """Publish what is wrong with the dispatcher as a whole, also where no file can be written."""
        slow = None
        if took > SLOW:
            seconds = took.total_seconds()
            slow = f"the last tick took {seconds:.0f} s; check what slows down the disk or the machine"
        problems = (*self._errors.values(), *others, slow)
        if self._file is None and self._folder is not None:
            with suppress(StorageError):  # logged when it began
                self._file = HealthFile(self._folder)
        if self._file is not None:
            self._file.report(next(filter(None, problems), None))

    def close(self) -> None:
        """Remove the health file."""
        if self._file is not None:
            self._file.close()
