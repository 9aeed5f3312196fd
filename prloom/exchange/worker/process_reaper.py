"""End what a command leaves running, in whatever session, before its claim is settled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from prloom import processes
from prloom.exchange.worker import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psutil

PAUSE: Final = 0.05
"""Seconds between two looks at what is left."""

_LINGER: Final = 0.2  # what ends by itself just after the command (a `tee`) may do so
_GRACE: Final = 2.0


class ProcessReaper:
    """All processes below this one, which has adopted the orphans among them; it works on one message at a time.

    `others` were below it before, and stay alone with what is below them.
    """

    def __init__(self, worker: str, *, adopted: bool, others: Sequence[psutil.Process] = ()) -> None:
        self._worker = worker
        self._adopted = adopted
        self._others = others
        self._begun: float | None = None
        self._look_at = 0.0
        self._asked: set[int] = set()

    def gone(self, now: float, *, childless: bool, at_once: bool) -> bool:
        """Whether nothing is left; what is, is asked to end, and killed where that does not help.

        `childless` says that the system knows no child of ours: then, orphans being ours, nothing can be left.
        """
        if childless and self._adopted:
            return True
        if self._begun is None:
            self._begun = now
        if now < self._look_at:
            return False
        self._look_at = now + PAUSE
        left = self._left()
        since = now - self._begun + (_LINGER if at_once else 0.0)
        if since >= _LINGER:
            self._press(left, hard=since >= _LINGER + _GRACE)
        return not left or since >= _LINGER + _GRACE + processes.ENDLESS

    def _press(self, left: list[psutil.Process], *, hard: bool) -> None:
        if hard:
            processes.kill(left)
        else:
            processes.ask_to_end(each for each in left if each.pid not in self._asked)
            self._asked |= {each.pid for each in left}

    def _left(self) -> list[psutil.Process]:
        found = {each.pid: each for each in processes.below(os.getpid())}
        if not self._adopted:
            found |= {each.pid: each for each in processes.tagged(environment.WORKER, self._worker)}
        spared = {each.pid for other in self._others for each in (other, *processes.below(other.pid))}
        return [each for pid, each in found.items() if pid not in spared]
