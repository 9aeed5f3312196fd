"""Stand between the dispatcher and a plugin's process, and end all that the plugin started when that process ends.

The plugin's process is a child of this one, which adopts the orphans below it (on Linux). So a daemon that forked
twice, in a session of its own and with an empty environment, is still found: it has become a child of this process.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

from prloom import children

_SIGNALS: Final = frozenset({signal.SIGCHLD, signal.SIGTERM})
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG, from linux/prctl.h


def split() -> None:
    """Return in a new process, which leads a session of its own; the calling one stays behind, and never returns.

    It ends when the new process does, and as that one did; or at SIGTERM, or when its parent dies. Before
    it ends, it kills whatever is below it. Call this before any thread is started.
    """
    me = os.getpid()
    _prctl(children.PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    signal.signal(
        signal.SIGCHLD, lambda *_: None
    )  # a signal that is ignored by default might not be kept while blocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = os.fork()
    if child:
        _reap(child)
    os.setsid()
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if os.getppid() != me:
        os._exit(1)  # the parent died before the kernel was asked to tell of it


def _reap(child: int) -> NoReturn:
    """Wait for the child or for SIGTERM; leave nothing behind, and end as the child did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the pipes are the child's: where it closes them, their other ends must see that
        os.dup2(nothing, descriptor)
    ends: dict[int, int] = {}
    while child not in ends and signal.sigwait(_SIGNALS) != signal.SIGTERM:
        children.collect(ends)
    try:
        if not children.collect(ends):
            from prloom import processes  # noqa: PLC0415 - 20 ms that a plugin which leaves nothing behind need not pay

            processes.kill_descendants(ends)
    finally:
        _end_as(ends.get(child, signal.SIGKILL))


def _end_as(status: int) -> NoReturn:
    """End with the status of another process: its exit code, or the signal that ended it."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        import resource  # noqa: PLC0415 - only a process that was killed has this end

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child has left a core, if one is wanted
        number = signal.Signals(-code)
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(max(code, 0))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - where it is not needed, it need not be there

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
