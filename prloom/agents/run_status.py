"""Find out what has become of a run, from its folder alone."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from prloom.agents import run_folder
from prloom.agents.run_folder import ProcessExit, ProcessWatch
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
    """The run's supervisor is gone without a word: killed, or the machine went down. `clean_up` ends what it left."""


@dataclass(frozen=True)
class RunLost:
    """The run's folder is missing, replaced or unreadable, so that nothing can tell how the run went."""

    reason: str


Fate = RunFinished | RunInProgress | RunInterrupted | RunLost


def inspect(folder: Path) -> Fate:
    """Return what has become of the run in this folder. Never trusts a process id: the lock says who lives."""
    problem = run_folder.problem(folder)
    if problem is not None:
        return RunLost(problem)
    if _held(folder):
        watch = run_folder.load(folder, run_folder.SUPERVISOR, ProcessWatch)
        return RunInProgress(watch.supervisor if watch else None)
    ended = run_folder.load(folder, run_folder.EXIT, ProcessExit)
    if ended:
        return RunFinished(ended)
    return RunInterrupted()


def _held(folder: Path) -> bool:
    """Return whether somebody holds the run's lock, by trying to share it for a moment."""
    try:
        fd = os.open(folder / run_folder.LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the disk, or a file system without locks
        return False
    finally:
        os.close(fd)
    return False
