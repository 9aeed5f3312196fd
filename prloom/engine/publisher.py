"""Write what other commands show of a dispatcher: its status files, each when its content is new, and its health."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from prloom import errors
from prloom.errors import FolderRemovedError, PrloomError, StorageError
from prloom.model import record
from prloom.storage import paths
from prloom.storage.dispatcher_files import HealthFile
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger("prloom.engine.dispatcher")

SLOW = timedelta(seconds=5)
"""A tick that takes longer than this is reported: it only begins what takes time, and writes what was decided."""

Status = Sequence[Mapping[str, Any]]

_FEW_SECONDS = 5


class Publisher:
    """Remembers the content of each file in the folder, and writes those whose content changes."""

    def __init__(self, folder: SafeDir) -> None:
        self._folder = folder
        self._published: dict[str, Status] = {}

    def publish(
        self, work: Mapping[str, Any], plugins: Status, bridges: Status, unreadable: Mapping[str, str], at: str
    ) -> None:
        """Write what is new; raises StorageError, once every file was tried, that names each one that failed.

        That a bridge was polled once more is written now and then: an idle repository costs no write each time.
        """
        files: tuple[tuple[str, Mapping[str, Any], Status], ...] = (
            (paths.WORK, work, [work]),
            (paths.PLUGINS, {"plugins": plugins}, plugins),
            (paths.BRIDGES, {"bridges": bridges}, [_without_times(bridge) for bridge in bridges]),
            (paths.PLANS, {"unreadable": unreadable}, [unreadable]),
        )
        failures = []
        for name, content, shown in files:
            if self._published.get(name) == shown:
                continue
            try:
                Document(self._folder, name).save({**content, "at": at})
            except StorageError as error:  # the file is written at the next call; the others need not wait for it
                failures.append(error)
            else:
                self._published[name] = shown
        if failures:
            raise StorageError("; ".join(map(str, failures))) from failures[0]


def _without_times(bridge: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is compared of a bridge: not that it was polled again within a few seconds, nor its requests."""
    shown = {key: value for key, value in bridge.items() if key != "requests"}
    return {key: _roughly(value) if key.endswith("At") and value else value for key, value in shown.items()}


def _roughly(time: str) -> int:
    """Return the same number for all times (ISO) within the same few seconds."""
    return int(record.moment(time).timestamp()) // _FEW_SECONDS


class Health:
    """Runs the phases of a tick, and keeps the error of each; until `begin`, errors are only logged."""

    def __init__(self) -> None:
        self._errors: dict[str, str | None] = {}
        self._file: HealthFile | None = None

    def begin(self, local: SafeDir) -> None:
        """Let other commands read the errors from now on; raises StorageError."""
        self._file = HealthFile(local)

    def run(self, phase: Callable[[], None]) -> None:
        """Run a phase of a tick; log its error if it is a new one. Raises FolderRemovedError."""
        name, problem = phase.__name__, None
        try:
            phase()
        except FolderRemovedError:
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

    def report(self, took: timedelta, *others: str | None) -> None:
        """Publish what is wrong with the dispatcher as a whole, also where no file can be written."""
        slow = None
        if took > SLOW:
            seconds = took.total_seconds()
            slow = f"the last tick took {seconds:.0f} s; check what slows down the disk or the machine"
        problems = (*self._errors.values(), *others, slow)
        if self._file is not None:
            self._file.report(next(filter(None, problems), None))

    def close(self) -> None:
        """Take back what was published."""
        if self._file is not None:
            self._file.close()
