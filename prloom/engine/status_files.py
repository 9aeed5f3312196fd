"""Write the status files that other commands read: each one when its content is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from prloom.errors import StorageError
from prloom.model.record import Timestamp
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

Status = Sequence[Mapping[str, Any]]

_FEW_SECONDS = 5


class StatusFiles:
    """The status files of a folder; remembers what was written, and writes the files whose content changes."""

    def __init__(self, folder: SafeDir) -> None:
        self._folder = folder
        self._written: dict[str, Status] = {}

    def write(
        self, work: Mapping[str, Any], plugins: Status, bridges: Status, unreadable: Mapping[str, str], at: Timestamp
    ) -> None:
        """Write the files whose content is new; try all of them, then raise StorageError with each failure.

        A bridge's times of polling are written every few seconds, so that polls of an idle repository write nothing.
        """
        files: tuple[tuple[str, Mapping[str, Any], Status], ...] = (
            (paths.WORK, work, [work]),
            (paths.PLUGINS, {"plugins": plugins}, plugins),
            (paths.BRIDGES, {"bridges": bridges}, [_without_times(bridge) for bridge in bridges]),
            (paths.PLANS, {"unreadable": unreadable}, [unreadable]),
        )
        failures = []
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
            raise StorageError("; ".join(map(str, failures))) from failures[0]


def _without_times(bridge: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a bridge's status that is compared: times to a few seconds, and without its requests."""
    shown = {key: value for key, value in bridge.items() if key != "requests"}
    return {key: _roughly(value) if key.endswith("At") and value else value for key, value in shown.items()}


def _roughly(time: datetime) -> int:
    """Return the same number for all times within the same few seconds."""
    return int(time.timestamp()) // _FEW_SECONDS
