"""Wait until the running dispatcher has handled a request: it cannot answer, so its files are looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

CHECK_INTERVAL: Final = timedelta(milliseconds=50)
"""The time between two checks."""

Pause = Callable[[float], None]
"""Waits for so many seconds."""


def until(is_handled: Callable[[], bool], patience: timedelta, pause: Pause) -> bool:
    """Look until a request is handled; return whether it was within the patience. It is looked once at least."""
    end = time.monotonic() + patience.total_seconds()
    while not is_handled():
        if time.monotonic() > end:
            return False
        pause(CHECK_INTERVAL.total_seconds())
    return True
