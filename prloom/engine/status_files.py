"""Write the status files that other commands read: each one when its content is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from prloom.engine import error_history
from prloom.engine.error_history import ErrorHistory
from prloom.errors import StorageError, UnsafePathError
from prloom.model.record import Timestamp
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

StatusRows = Sequence[Mapping[str, Any]]

_FEW_SECONDS = 5


class StatusFiles:
    """The status files of a folder; remembers what was written, and writes the files whose content changes.

    What is wrong with a plugin, a bridge or a plan gets the time at which that was first reported, and is logged below
    the checkout `root` when it is over.
    """

    def __init__(self, folder: SafeDir, root: Path) -> None:
        self._folder = folder
        self._written: dict[str, StatusRows] = {}
        self._errors = ErrorHistory(root, self._read)
        self._earlier: dict[str, Mapping[str, Any]] | None = None

    def write(
        self,
        work: Mapping[str, Any],
        plugins: StatusRows,
        bridges: StatusRows,
        unreadable: Mapping[str, str],
        at: Timestamp,
    ) -> None:
        """Write the files whose content is new; try all of them, then raise StorageError with each failure.

        It is UnsafePathError where something is in the place of each file that could not be written.
        A bridge's times of polling are written every few seconds, so that polls of an idle repository write nothing.
        """
        plugins = self._errors.dated(paths.PLUGINS, "plugins", plugins, at)
        bridges = self._errors.dated(paths.BRIDGES, "bridges", bridges, at)
        with_polls = [self._with_earlier_polls(bridge) for bridge in bridges]
        since = self._errors.refused_since(unreadable, at)
        files: tuple[tuple[str, Mapping[str, Any], StatusRows], ...] = (
            (paths.WORK, work, [work]),
            (paths.PLUGINS, {"plugins": plugins}, plugins),
            (paths.BRIDGES, {"bridges": with_polls}, [_without_times(bridge) for bridge in bridges]),
            (paths.PLANS, {"unreadable": unreadable, "since": since}, [unreadable, since]),
        )
        failures = []
        try:
            self._errors.save()  # before the files, by which an error that is over is known after a crash
        except StorageError as error:
            failures.append(error)
        for name, content, shown in files:
            if self._written.get(name) == shown:
                continue
            try:
                Document(self._folder, name).save({**content, "at": at})
            except StorageError as error:  # the file is written at the next call; the others need not wait for it
                failures.append(error)
            else:
                self._written[name] = shown
        if failures:
            kind: type[StorageError] = StorageError
            if all(isinstance(failure, UnsafePathError) for failure in failures):
                kind = UnsafePathError
            raise kind("; ".join(map(str, failures))) from failures[0]

    def _with_earlier_polls(self, bridge: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a bridge with the times at which the dispatcher before this one asked it, where this one has none."""
        if self._earlier is None:
            reports = error_history.named(self._read(paths.BRIDGES).get("bridges"))
            self._earlier = {each["name"]: _polls(each) for each in reports}
        earlier = self._earlier.get(bridge["name"], {})
        return {**bridge, **{key: time for key, time in earlier.items() if bridge.get(key) is None}}

    def _read(self, name: str) -> Mapping[str, Any]:
        """Return what a file says that the dispatcher before this one wrote; nothing where it cannot be read."""
        with suppress(StorageError):
            return Document(self._folder, name).peek().value or {}
        return {}


def _polls(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return when a bridge was asked, and when that worked, as far as a file says so."""
    found = {}
    for key in ("lastPollAt", "lastOkAt"):
        with suppress(TypeError, ValueError):
            found[key] = Timestamp.read(report.get(key))  # type: ignore[arg-type]
    return found


def _without_times(bridge: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a bridge's status that is compared: times to a few seconds, and without its requests."""
    shown = {key: value for key, value in bridge.items() if key != "requests"}
    return {key: _roughly(value) if key.endswith("At") and value else value for key, value in shown.items()}


def _roughly(time: datetime) -> int:
    """Return the same number for all times within the same few seconds."""
    return int(time.timestamp()) // _FEW_SECONDS
