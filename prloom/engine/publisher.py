"""Write the files in which a dispatcher tells other commands what it does, each only when it has something new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prloom.errors import StorageError
from prloom.model import record
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

Told = Sequence[Mapping[str, Any]]

_FEW_SECONDS = 5


class Publisher:
    """Remembers what each file in the folder says, and writes those that must say something else."""

    def __init__(self, folder: SafeDir) -> None:
        self._folder = folder
        self._published: dict[str, Told] = {}

    def publish(
        self, work: Mapping[str, Any], plugins: Told, bridges: Told, unreadable: Mapping[str, str], at: str
    ) -> None:
        """Write what is new; raises StorageError, once every file was tried, that names each one that failed.

        That a bridge was asked once more is written now and then: an idle repository costs no write each time.
        """
        files: tuple[tuple[str, Mapping[str, Any], Told], ...] = (
            (paths.WORK, work, [work]),
            (paths.PLUGINS, {"plugins": plugins}, plugins),
            (paths.BRIDGES, {"bridges": bridges}, [_without_times(bridge) for bridge in bridges]),
            (paths.PLANS, {"unreadable": unreadable}, [unreadable]),
        )
        failures = []
        for name, content, news in files:
            if self._published.get(name) == news:
                continue
            try:
                Document(self._folder, name).save({**content, "at": at})
            except StorageError as error:  # the file is written at the next call; the others need not wait for it
                failures.append(error)
            else:
                self._published[name] = news
        if failures:
            raise StorageError("; ".join(map(str, failures))) from failures[0]


def _without_times(bridge: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is news about a bridge: not that it was asked again within a few seconds, and by what requests."""
    told = {key: value for key, value in bridge.items() if key != "requests"}
    return {key: _roughly(value) if key.endswith("At") and value else value for key, value in told.items()}


def _roughly(time: str) -> int:
    """Return the same number for all times (ISO) within the same few seconds."""
    return int(record.moment(time).timestamp()) // _FEW_SECONDS
