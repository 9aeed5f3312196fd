"""Keep a daemon's files: its log, which is rotated, and what a later dispatcher recognises it by."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Sequence

import msgspec

from prloom.core.text import naming
from prloom.errors import StorageError
from prloom.extensions.background.process import DaemonIds
from prloom.extensions.plugin_log import LONGEST_LINE, LineCutter
from prloom.model import record
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

ROTATE_AT = 1024 * 1024
"""Bytes after which a log is moved to `daemon.log.1`, and a new one is begun."""
SHOWN = 20
"""Lines of the log that `prloom plugins status` shows."""


class DaemonFiles:
    """The files of one daemon, below `prloom/.local/plugins/`."""

    def __init__(self, local: SafeDir, key: str) -> None:
        self._folder = local.make_sub(paths.DAEMONS, paths.plugin_folder(key))
        self._ids = Document(self._folder, paths.DAEMON_IDS)
        self._cutter = LineCutter()
        self._lines: deque[str] = deque(maxlen=SHOWN)
        self._fd: int | None = None
        self._size = 0
        self._broken = False

    @property
    def last_lines(self) -> Sequence[str]:
        """The last lines that the daemon printed, without control characters."""
        return tuple(self._lines)

    def append(self, chunk: bytes) -> None:
        """Append what the daemon printed to its log; a log that cannot be written is reported once."""
        shown = tuple(self._cutter.feed(chunk))[-SHOWN:]
        self._lines.extend(naming.printable(line, LONGEST_LINE) for line in shown)
        try:
            self._write(chunk)
        except (OSError, StorageError) as error:
            if not self._broken:
                log.warning("%s cannot be written: %s", self._folder.where(paths.DAEMON_LOG), error)
            self._broken = True
            self.close_log()
        else:
            self._broken = False

    def end_line(self) -> None:
        """Keep what the daemon printed after its last newline: it has ended."""
        self._lines.extend(naming.printable(line, LONGEST_LINE) for line in self._cutter.last())
        self.close_log()

    def close_log(self) -> None:
        """Close the log's file; the next line opens it again."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None

    def save(self, ids: DaemonIds) -> None:
        """Save what the running daemon can be recognised by; without room on the disk, it runs all the same."""
        try:
            self._ids.save(record.to_wire(ids))
        except StorageError as error:
            log.warning("%s; a daemon that outlives a crash of prloom would not be found", error)

    def forget(self) -> None:
        """Remove what the daemon could be recognised by: it has ended."""
        try:
            self._folder.remove(paths.DAEMON_IDS)
        except StorageError as error:
            log.warning("%s", error)

    def left(self) -> DaemonIds | None:
        """Return what the daemon of a dispatcher that crashed can be recognised by; None where there is none."""
        value = self._ids.load().value
        if value is None:
            return None
        try:
            return record.from_wire(DaemonIds, value)
        except msgspec.ValidationError:
            return None

    def close(self) -> None:
        """Close the files."""
        self.close_log()
        self._folder.close()

    def _write(self, chunk: bytes) -> None:
        if self._fd is not None and self._size > ROTATE_AT:
            self.close_log()
            self._folder.rename(paths.DAEMON_LOG, f"{paths.DAEMON_LOG}.1")
        if self._fd is None:
            self._fd = self._folder.open_to_append(paths.DAEMON_LOG)
            self._size = os.fstat(self._fd).st_size
        self._size += os.write(self._fd, chunk)
