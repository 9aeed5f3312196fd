"""End a process and everything that it started, also what has left its process group."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil

MARK = "PRLOOM_HOST_ID"
"""The variable in a host's environment by which its descendants are known, wherever they went."""

_ROUNDS = 3  # a process that is ended may have started another one just before


def kill(pid: int, mark: str, *, exited: bool) -> None:
    """Kill the process group `pid`, the processes below it, and those that carry the mark in their environment.

    Of a host that has exited, the group may live on. Its number is given to no other process before the group is empty;
    so where there is such a process, there is no such group, and nothing but the mark counts.
    """
    below = [] if exited else _below(pid)
    if not (exited and psutil.pid_exists(pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    _kill(below)
    for _ in range(_ROUNDS):
        strays = _marked(mark)
        if not strays:
            return
        _kill(strays)


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):  # gone, or somebody else's
            process = psutil.Process(pid)
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
