"""Say in one line what a plugin raised, and where in the plugin's own code."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path
from types import TracebackType

from prloom.errors import leaves
from prloom.extensions import keys

_LONGEST = 500  # characters of an exception's text: it may quote a whole comment


def describe(error: BaseException) -> str:
    """Return the exception's type, its text and the plugin's line that it came from; of a group, those of the first."""
    error = next(leaves(error), error)
    text = type(error).__name__
    said = " ".join(_said(error).split())
    if said:
        text += f": {said if len(said) <= _LONGEST else said[: _LONGEST - 1] + '…'}"
    own = frames(error)
    if own:
        return f"{text} ({own[-1]})"
    return text


def frames(error: BaseException, *, most: int = 5) -> tuple[str, ...]:
    """Return the last steps through the plugin's own code, each as `file, line N, in function`."""
    steps = list(_steps(error.__traceback__))
    own = [step for module, step in steps if module.startswith(f"{keys.PACKAGE}.")]
    return tuple(own[-most:])


def is_interrupt(error: BaseException) -> bool:
    """Whether a person interrupted the program: they only reach its main thread, elsewhere the plugin raised it."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _steps(trace: TracebackType | None) -> list[tuple[str, str]]:
    found = []
    for frame, line in traceback.walk_tb(trace):
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", ""))
        found.append((module, f"{Path(code.co_filename).name}, line {line}, in {code.co_name}"))
    return found


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise anything
        return "(its text cannot be shown)"
