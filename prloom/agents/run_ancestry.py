"""Find out whether a process was started by an agent's run, by what it descends from."""

from __future__ import annotations

from typing import Final

import psutil

from prloom import processes

RUN_VARIABLE: Final = "PRLOOM_RUN"
"""Holds the run's id in every process of a run, so that what is left of it can be found when all else is lost."""

_POOL: Final = "prloom.engine.runs.pool"
"""What stands in the command line of the processes that supervise runs."""


def line(pid: int) -> tuple[psutil.Process, ...]:
    """Return a process and all that it descends from, the nearest first; none where it is gone."""
    try:
        process = psutil.Process(pid)
        return (process, *process.parents())
    except psutil.Error:
        return ()


def run_of(pid: int) -> str | None:
    """Return what shows that a process belongs to an agent's run, or None for one that a person has started.

    It, or a process that it descends from, has a run's id in its environment, or is one that supervises runs: those
    adopt what a run leaves behind, also where it has cleared its environment.
    """
    found = line(pid)
    for each in found:
        run = processes.variable(each, RUN_VARIABLE)
        if run:
            return f"run {run}"
        if _is_pool(each):
            return "a run that it has left"
    return None


def _is_pool(process: psutil.Process) -> bool:
    try:
        return _POOL in process.cmdline()
    except psutil.Error:
        return False
