"""Tell what git refuses from what the system kept it from: a full disk, a lock, a limit, a race with another git."""

from __future__ import annotations

import errno
import os
import signal

from prloom.errors import WorkspaceError

_ENDED_FROM_OUTSIDE = frozenset(
    -number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ)
)
# Git ends its line with the words of the system where a call of the system failed. "Success" is in them: of a file that
# another git had made and not written yet.
_WORDS = frozenset(os.strerror(number) for number in (0, *errno.errorcode))
_OUT_OF_MEMORY = "fatal: Out of memory"


class GitSystemError(WorkspaceError):
    """The system kept git from its work, and nothing is known of what git was to look at; a later try may succeed."""


def failed(text: str, code: int, err: str) -> WorkspaceError:
    """Return the error for a git that ended with a code and wrote this to its standard error."""
    if code in _ENDED_FROM_OUTSIDE or any(map(_is_of_system, err.splitlines())):
        return GitSystemError(text)
    return WorkspaceError(text)


def _is_of_system(line: str) -> bool:
    return line.startswith(_OUT_OF_MEMORY) or line.strip().rstrip(".").rpartition(": ")[2] in _WORDS
