"""A folder in memory for what tests write: prloom flushes a lot, and on a disk each flush makes a test wait."""

from __future__ import annotations

import os
import tempfile

SHARED = "/dev/shm"
ROOM = 2 * 1024**3
"""Bytes that must be free there; containers often give it 64 MB, and the tests need a few hundred."""


def folder() -> str | None:
    """Return where this machine keeps files in memory; None where it does not, or where the tests do not fit."""
    try:
        there = os.statvfs(SHARED)
    except OSError:
        return None
    fits = there.f_bavail * there.f_frsize >= ROOM and not there.f_flag & os.ST_NOEXEC
    if fits and os.access(SHARED, os.W_OK):
        return SHARED
    return None


def keep_temporary_files() -> None:
    """Let all temporary folders of this process and of those it starts be in memory, unless its caller has chosen."""
    chosen = {"TMPDIR", "PYTEST_DEBUG_TEMPROOT"} & os.environ.keys()
    place = folder()
    if place is not None and not chosen:
        os.environ["TMPDIR"] = place
        tempfile.tempdir = None  # Python remembers what it has found once
