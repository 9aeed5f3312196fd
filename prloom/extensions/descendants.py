"""End a plugin's process and everything that it started, also what has left its process group."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil

from prloom import processes

MARK = "PRLOOM_HOST_ID"
"""The variable in a host's environment by which its descendants are known, wherever they went."""

_ROUNDS = 3  # a process that is ended may have started another one just before
_PATIENCE = 10.0  # seconds for the reaper to end all that is below it
_PAUSE = 0.01


def kill(pid: int, mark: str, *, exited: bool) -> None:
    """Have the reaper `pid` end all that is below it; then see to what it may have missed because it was killed itself.

    That is its process group, the processes below it, and those that carry the mark in their environment. Of a reaper
    that has exited, the group may live on. Its number is given to no other process before the group is empty; so where
    there is such a process, there is no such group, and nothing but the mark counts.
    """
    exited = exited or _reaped(pid)
    if exited:
        below = []
    else:
        below = _below(pid)
    if not (exited and psutil.pid_exists(pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    _kill(below)
    for _ in range(_ROUNDS):
        strays = _marked(mark)
        if not strays:
            return
        _kill(strays)


def _reaped(pid: int) -> bool:
    """Ask the reaper to end all and itself, and wait for it; return whether it has."""
    reaper = processes.identity(pid)
    if reaper is None:
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    given_up = time.monotonic() + _PATIENCE
    while processes.alive(reaper):
        if time.monotonic() > given_up:
            return False
        time.sleep(_PAUSE)
    return True


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
