"""Wake the worker: a signal came, a child ended, or one of its threads has something to say."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_STOP: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FULL: Final = 1 << 16


class SignalPipe:
    """Turns signals into bytes in a pipe, so that one wait hears everything; for the main thread only.

    `stops` counts how often the worker was asked to stop. `leash` is a pipe whose other end its keeper holds: that end
    closed, the keeper is gone, and the worker is to stop too.
    """

    def __init__(self, leash: int | None = None) -> None:
        self.stops = 0
        self._leash = leash
        self._heard, self._struck = os.pipe()
        os.set_blocking(self._heard, False)
        os.set_blocking(self._struck, False)
        signal.set_wakeup_fd(self._struck, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_STOP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup`, or a shell's `&`, has it
                signal.signal(number, lambda *_: None)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What becomes readable when there is something to hear."""
        if self._leash is None:
            return (self._heard,)
        return (self._heard, self._leash)

    def ring(self) -> None:
        """Wake the main thread; from any thread."""
        with suppress(BlockingIOError):
            os.write(self._struck, b"\0")

    def hear(self) -> None:
        """Take what came, without waiting."""
        with suppress(BlockingIOError):
            while heard := os.read(self._heard, _FULL):
                self.stops += sum(heard.count(number) for number in _STOP)
        if self._leash is not None and _readable(self._leash):
            os.close(self._leash)
            self._leash = None
            self.stops += 1

    def wait(self, others: Iterable[int], seconds: float) -> None:
        """Return when something came, here or at the other descriptors, or when the time is over."""
        watch = select.poll()
        for descriptor in (*self.descriptors, *others):
            watch.register(descriptor, select.POLLIN)
        watch.poll(max(seconds, 0) * 1000)
        self.hear()


def _readable(descriptor: int) -> bool:
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    return bool(watch.poll(0))
