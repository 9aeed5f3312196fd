"""Call a bridge's own code, and wait for it: whatever it raises is an error of the bridge, and ends nothing else."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prloom import errors
from prloom.errors import ExtensionError
from prloom.extensions import loading

P = ParamSpec("P")
T = TypeVar("T")

PACKAGE = "prloom_bridges"
"""The package, found nowhere on disk, in which bridges are loaded."""


def run(what: str, step: Callable[[], Any]) -> Any:  # noqa: ANN401 - what a bridge's code returns is its own
    """Run one step of a bridge's own code; all that it raises becomes an ExtensionError, a person's interrupt aside."""
    try:
        return step()
    except BaseException as error:
        if isinstance(error, ExtensionError) or loading.is_interrupt(error):
            raise
        raise ExtensionError(f"{what} raised {loading.describe_error(error)}{origin(error)}") from error


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
        text = f"CancelledError{origin(error)}: the bridge waited for a task that was cancelled"
        raise ExtensionError(text) from error
    except (SystemExit, KeyboardInterrupt) as error:
        if loading.is_interrupt(error):
            raise
        raise ExtensionError(f"{errors.describe(error)}{origin(error)}") from error


def _is_requested() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def origin(error: BaseException) -> str:
    """Return the line of a bridge's own code at which an error was raised, in brackets; nothing for another error."""
    own = [
        f" ({Path(frame.f_code.co_filename).name}, line {line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(f"{PACKAGE}.")
    ]
    if own:
        return own[-1]
    return ""
