"""Collect the children of this process that have ended; it loads nothing, because each plugin's process imports it."""

from __future__ import annotations

import os

PR_SET_CHILD_SUBREAPER = 36
"""What asks Linux that a process adopts the orphans below it: prctl(2)."""


def collect(ends: dict[int, int]) -> bool:
    """Note in `ends`, by their ids, how the dead children ended, adopted orphans too; return whether none is left."""
    try:
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            ends[dead[0]] = dead[1]
    except ChildProcessError:
        return True
    return False
