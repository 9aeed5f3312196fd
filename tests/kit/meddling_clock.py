"""A clock that does something between two steps of the work on a plan, as people do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from fake_clock import Clock


class MeddlingClock(Clock):
    """A clock at whose first look after a step something happens: whatever prloom does next, it happens before."""

    def __init__(self, log: Path, verdict: str, act: Callable[[], object]) -> None:
        super().__init__()
        self._log = log
        self._mark = f'"verdict":"{verdict}"'
        self._act: Callable[[], object] | None = act

    def __call__(self) -> datetime:
        if self._act is not None and self._log.exists() and self._mark in self._log.read_text():
            act, self._act = self._act, None
            act()
        return super().__call__()

    @property
    def happened(self) -> bool:
        return self._act is None
