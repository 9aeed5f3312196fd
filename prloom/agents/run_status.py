"""Tell what has become of a run from the files in its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prloom import flock
from prloom.agents import run_folder
from prloom.agents.run_folder import EXIT, LOCK, SUPERVISOR, ProcessExit, ProcessWatch
from prloom.processes import Process


@dataclass(frozen=True)
class RunFinished:
    """The run is over and said how."""

    exit: ProcessExit


@dataclass(frozen=True)
class RunInProgress:
    """The run goes on; `supervisor` is None in its first moments."""

    supervisor: Process | None


@dataclass(frozen=True)
class RunInterrupted:
    """The run's worker is gone without a word: killed, or the machine went down. `clean_up` ends what it left."""


@dataclass(frozen=True)
class RunLost:
    """The run's folder is missing, replaced or unreadable, so that it is not known how the run went."""

    reason: str


RunStatus = RunFinished | RunInProgress | RunInterrupted | RunLost


def inspect(folder: Path) -> RunStatus:
    """Return what has become of the run in this folder; its lock, and never a process id, shows if its worker lives."""
    unreadable = run_folder.problem(folder)
    if unreadable is not None:
        return RunLost(unreadable)
    if _held(folder):
        watch = run_folder.load(folder, SUPERVISOR, ProcessWatch)
        return RunInProgress(watch.supervisor if watch else None)
    ended = run_folder.load(folder, EXIT, ProcessExit)
    if ended:
        return RunFinished(ended)
    return RunInterrupted()


def program_started_at(folder: Path) -> datetime | None:
    """Return when the run's program was started, or None where that is not written down."""
    told = run_folder.load(folder, EXIT, ProcessExit) or run_folder.load(folder, SUPERVISOR, ProcessWatch)
    if told is None:
        return None
    return told.started_at


def was_begun(folder: Path) -> bool:
    """Return whether a worker has begun the run."""
    return run_folder.read(folder, LOCK, 0) is not None


def _held(folder: Path) -> bool:
    """Return whether a process has the run's lock."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return flock.is_locked(fd)
    finally:
        os.close(fd)
