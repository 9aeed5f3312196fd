"""Wait for what another process or thread does, which tells nobody what a test wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def until(true: Callable[[], object], *, seconds: float = 60, each: float = 0.02) -> None:
    """Look again and again, every `each` seconds, until something is true; fail if it does not come true."""
    end, never = time.monotonic() + seconds, threading.Event()
    while not true():
        assert time.monotonic() < end, f"not true after {seconds:g} s"
        never.wait(each)
