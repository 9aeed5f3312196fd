"""Write what a run leaves, also on a disk that is full for a while."""

from __future__ import annotations

import errno
import logging
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from prloom.errors import AgentError
from prloom.exchange.worker.lease import Lease
from prloom.exchange.worker.supervisor import SignalPipe

log = logging.getLogger(__name__)

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PAUSE: Final = 1.0  # seconds between two tries on a disk that is full


class CappedFile:
    """A file that takes a certain number of bytes; what comes after is dropped, and that is remembered.

    What a full disk does not take is kept in memory until there is room.
    """

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._room = limit
        self._unwritten = bytearray()
        self.full = False

    def write(self, chunk: bytes) -> None:
        """Keep as much as the file takes."""
        kept = chunk[: self._room]
        self.full = self.full or len(kept) < len(chunk)
        self._room -= len(kept)
        self._unwritten += kept
        with suppress(OSError):
            self.flush()

    def flush(self) -> None:
        """Write what is still in memory; raises OSError. Any error but that of a full disk means no room at all."""
        while self._unwritten:
            try:
                written = os.write(self._fd, self._unwritten)
            except OSError as error:
                if error.errno not in _FULL:
                    self._unwritten.clear()
                    self._room, self.full = 0, True
                raise
            del self._unwritten[:written]

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def wait(lease: Lease, signals: SignalPipe, write: Callable[[], None], *, patience: float = math.inf) -> None:
    """Write something of a run that has ended, as soon as the disk has room for it.

    It is given up where the worker is to stop or has lost the run, which is kept until then. After `patience` seconds,
    it raises AgentError. Any other error means that it cannot be written at all.
    """
    begun, run, is_logged = time.monotonic(), lease.claimed.message.id, False
    while True:
        try:
            write()
        except OSError as error:
            if error.errno not in _FULL or signals.stops:
                return
            full = error.strerror
        else:
            return
        now = time.monotonic()
        if lease.lost(now):
            return
        if now - begun >= patience:
            raise AgentError(f"what the agent has printed cannot be written: {full}; make room on this machine's disk")
        if not is_logged:
            log.warning("run %s has ended, but cannot be written down: %s; it waits for room on the disk", run, full)
            is_logged = True
        lease.renew_if_due(now)
        signals.wait(_PAUSE)
