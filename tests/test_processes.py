"""Recognising and ending processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from prloom import processes
from prloom.processes import Process

VARIABLE = "A_RUN"
SLEEPER = "import signal, time\nprint('up', flush=True)\ntime.sleep(600)"
STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)"
)


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python program of a run and return once it is up."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, run: str = "some-run") -> subprocess.Popen[str]:
        env = os.environ | {VARIABLE: run}
        process = subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_a_process_is_recognised_by_its_start_and_not_by_its_id_alone() -> None:
    me = processes.identity(os.getpid())

    assert me is not None
    assert processes.alive(me)
    assert not processes.alive(Process(pid=me.pid, started="1"))


def test_a_dead_process_is_not_alive_even_before_it_is_collected(spawn: Callable[..., subprocess.Popen[str]]) -> None:
    child = spawn(SLEEPER)
    it = processes.identity(child.pid)
    assert it is not None

    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not processes.alive(it)


def test_an_id_that_nobody_has_names_no_process() -> None:
    assert processes.identity(2**22 + 1) is None


def test_cleaning_up_ends_one_run_and_leaves_the_others_alone(spawn: Callable[..., subprocess.Popen[str]]) -> None:
    mine, other = spawn(SLEEPER, "run-a"), spawn(SLEEPER, "run-b")

    assert processes.clean_up(VARIABLE, "run-a", grace_seconds=60) == 0

    assert mine.wait(timeout=60) == -15
    assert other.poll() is None


def test_cleaning_up_kills_what_does_not_want_to_end(spawn: Callable[..., subprocess.Popen[str]]) -> None:
    stubborn = spawn(STUBBORN, "run-a")

    assert processes.clean_up(VARIABLE, "run-a", grace_seconds=0.1) == 0

    assert stubborn.wait(timeout=60) == -9


def test_a_child_that_dropped_the_runs_variable_is_ended_with_its_parent(
    spawn: Callable[..., subprocess.Popen[str]],
) -> None:
    parent = spawn(
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], env={{}}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nprint('up', flush=True)\nchild.wait()",
        "run-a",
    )
    (child,) = psutil.Process(parent.pid).children()

    processes.clean_up(VARIABLE, "run-a", grace_seconds=0.1)

    end = time.monotonic() + 60
    while processes.living(child.pid):  # a signal that was sent may not have ended it yet
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def test_cleaning_up_a_run_of_which_nothing_is_left_does_nothing() -> None:
    assert processes.clean_up(VARIABLE, "no-such-run") == 0
