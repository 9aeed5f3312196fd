"""Wait for what a bridge does: whatever its code raises is an error of the bridge, and ends nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from prloom import errors
from prloom.errors import ExtensionError
from prloom.extensions import bridges, loading

P = ParamSpec("P")
T = TypeVar("T")


async def wait(method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a method of a bridge and return what it returns; what it raises, then or later, is an Exception.

    A cancellation that prloom did not request is one of the bridge's own tasks, and SystemExit or KeyboardInterrupt
    are raised by its code: to pass them on would end the work that waits for the bridge, or prloom.
    """
    try:
        return await method(*args, **kwargs)
    except asyncio.CancelledError as error:
        if _is_requested():
            raise
        text = f"CancelledError{bridges.origin(error)}: the bridge waited for a task that was cancelled"
        raise ExtensionError(text) from error
    except (SystemExit, KeyboardInterrupt) as error:
        if loading.is_interrupt(error):
            raise
        raise ExtensionError(f"{errors.describe(error)}{bridges.origin(error)}") from error


def _is_requested() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
