"""Write down what becomes of the daemons, for commands that only read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from prloom.errors import StorageError
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_PAUSE = 0.25
"""Seconds between two writes at least: events are counted more often than that."""

ReportRows = Sequence[Mapping[str, Json]]


class DaemonReports:
    """The file with the daemons' states; `changed` has it written soon."""

    def __init__(self, local: SafeDir) -> None:
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), paths.DAEMON_STATUS, lasting=False)
        self._changes = asyncio.Event()

    def changed(self) -> None:
        """Have the states written soon."""
        self._changes.set()

    async def write_changes(self, read: Callable[[], ReportRows]) -> None:
        """Write the states whenever they have changed, until this is cancelled."""
        while True:
            self._changes.clear()
            self.write(read())
            await asyncio.sleep(_PAUSE)
            await self._changes.wait()

    def write(self, states: ReportRows) -> None:
        """Write the states now; a file that cannot be written stops nothing."""
        try:
            self._document.save({"daemons": states})
        except StorageError as error:
            log.warning("%s; `prloom plugins status` shows old states", error)
