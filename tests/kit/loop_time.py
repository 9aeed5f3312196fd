"""The time of the running event loop, which a test puts forward instead of waiting."""

from __future__ import annotations

import asyncio


def let_pass(seconds: float) -> None:
    """Have the loop find that so many seconds have passed: whatever has waited for less than them waits no more."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
