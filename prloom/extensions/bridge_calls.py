"""Wait for what a bridge does: whatever its code raises is an error of the bridge, and ends nothing else."""

from __future__ import annotations

import asyncio
import signal
import traceback
from collections.abc import Awaitable
from typing import TypeVar

from prloom import errors
from prloom.errors import ExtensionError
from prloom.extensions import bridges

T = TypeVar("T")


async def wait(call: Awaitable[T]) -> T:
    """Return what the bridge's code returns; what it raises is an Exception.

    A cancellation that prloom did not request is one of the bridge's own tasks, and SystemExit or KeyboardInterrupt
    are raised by its code: to pass them on would end the work that waits for the bridge, or prloom.
    """
    try:
        return await call
    except asyncio.CancelledError as error:
        if _is_requested():
            raise
        text = f"CancelledError{bridges.origin(error)}: the bridge waited for a task that was cancelled"
        raise ExtensionError(text) from error
    except (SystemExit, KeyboardInterrupt) as error:
        if is_person(error):
            raise
        raise ExtensionError(f"{errors.describe(error)}{bridges.origin(error)}") from error


def is_person(error: BaseException) -> bool:
    """Whether a person interrupted prloom: then the handler of the signal raised it, and not the code itself."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it has no frame, so nothing shows who it was
        return True
    raised_in = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return raised_in[-1:] == [asyncio.runners.__name__]


def _is_requested() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
