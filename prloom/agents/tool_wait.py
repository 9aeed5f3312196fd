"""Note in a run's folder that the run waits for a tool of prloom's: it prints nothing meanwhile, and is not stuck."""

from __future__ import annotations

import math
import os
import stat
import time
from pathlib import Path
from typing import Final

from prloom import flock
from prloom.agents import run_folder

_PATIENCE: Final = 0.05
"""Seconds for which the note is tried: `seconds_since` locks it for a moment, and an agent could for ever."""


def begin(folder: Path) -> int | None:
    """Note that a run waits from now on, and return what `end` takes; None where the note cannot be written.

    The note is a lock, so that it ends with this process.
    """
    try:
        waiting = run_folder.open_shared(folder, run_folder.TOOL_WAIT)
    except OSError:  # something else is in its place: the run has its time as if it did not wait
        return None
    if flock.lock_within(waiting, _PATIENCE):
        return waiting
    os.close(waiting)
    return None


def end(waiting: int) -> None:
    """Note that a run waits no more."""
    try:
        os.utime(waiting)
    finally:
        os.close(waiting)


def seconds_since(folder: Path) -> float:
    """Return the seconds since a run last waited, 0 while it does; infinite where it never did."""
    try:
        opened = run_folder.open_shared(folder, run_folder.TOOL_WAIT, create=False)
    except OSError:
        return math.inf
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            return math.inf
        if flock.is_locked(opened):
            return 0.0
        return max(0.0, time.time() - about.st_mtime)
    finally:
        os.close(opened)
