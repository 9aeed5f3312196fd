"""End a process and everything that it started, also what has left its process group."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil

MARK = "PRLOOM_HOST_ID"
"""The variable in a host's environment by which its descendants are known, wherever they went."""

_ROUNDS = 3  # a process that is ended may have started another one just before


def kill(pid: int | None, mark: str) -> None:
    """Kill the process group `pid`, the processes below it, and those that carry the mark in their environment.

    Without a pid the host is gone already, and its number may be somebody else's: only the mark counts then.
    """
    if pid is not None:
        below = _below(pid)
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
