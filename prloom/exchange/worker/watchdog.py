"""Watch over a worker from a process of its own, and end what it started when it is killed.

Nothing that a process does can help it against SIGKILL. So a second one, in a session of its own, holds the end of a
pipe: when the other end is closed without a word, the worker is gone, and what carries its name is ended. Else its
command would work on beside that of the worker that takes the message over.
"""

from __future__ import annotations

import os
import signal

from prloom import processes
from prloom.exchange.worker import environment

_ALL_WELL = b"."
_MOST_DESCRIPTORS = 65536


class Watchdog:
    """The worker's side of it. Begin it before anything is opened: the guard inherits what there is by then."""

    def __init__(self, worker: str) -> None:
        theirs, self._ours = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _become(theirs, worker)
            finally:
                os._exit(0)
        os.close(theirs)
        os.waitpid(child, 0)

    def dismiss(self) -> None:
        """Say that the worker ends by itself and leaves nothing behind."""
        os.write(self._ours, _ALL_WELL)
        os.close(self._ours)


def _become(pipe: int, worker: str) -> None:
    os.setsid()
    if os.fork() != 0:  # an orphan is no child of the worker, who waits for all of its children
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.dup2(pipe, 3)
    os.closerange(4, _MOST_DESCRIPTORS)
    if os.read(3, 1) != _ALL_WELL:
        processes.clean_up(environment.WORKER, worker)
