"""`prloom worker --concurrency N`: several runs at once, no more of an agent than the machine allows, and an end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import environment
import machine_process
import psutil
import pytest
import run_messages
from project import Project

from prloom.agents import run_message
from prloom.agents.supervision import SupervisingWorker
from prloom.config import loading
from prloom.engine.machine import agent_slots
from prloom.engine.machine import machine as machines
from prloom.exchange import connect
from prloom.exchange.claim import MessageEntry
from prloom.exchange.worker.job import WorkerIdentity

PATIENCE = 60.0
RUNS = ("20261121T201532299Z-worker-1a2b3c4d", "20261121T201532299Z-worker-5e6f7a8b")
MEETING = """
import os, sys, time
from pathlib import Path

here = Path({here!r})
(here / f"at-work-{{os.getpid()}}").touch()
given_up = time.monotonic() + 60
while len(list(here.glob("at-work-*"))) < {expected}:
    if time.monotonic() > given_up:
        sys.exit("nobody else came")
    time.sleep(0.01)
print("met")
"""
Start = Callable[..., Any]


class Scene:
    """A machine's checkout with its remote, an exchange, and a folder in which its agents meet."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = Project(home / "project")
        self.project.git("clone", "--quiet", "--bare", str(self.project.root), str(home / "hub.git"))
        self.project.git("remote", "add", "origin", str(home / "hub.git"))
        self.database = home / "exchange.db"

    @property
    def folder(self) -> Path:
        return self.project.root / "prloom/.local/machine"

    @property
    def at_work(self) -> int:
        return len(list(self.home.glob("at-work-*")))

    def publish(self, *runs: str) -> list[str]:
        """Publish runs, and return the ids of their messages."""
        commit = self.project.git("rev-parse", "work")
        body = run_message.encode(run_messages.a_message(repository=str(self.home / "hub.git"), commit=commit))
        with connect(self.database) as exchange:
            return [exchange.publish("agent.worker", body, metadata={"run": run}).id for run in runs]

    def when(self, message: str, true: Callable[[MessageEntry], bool]) -> MessageEntry:
        """Return a message's entry as soon as something is true of it."""
        given_up = time.monotonic() + PATIENCE
        with connect(self.database) as exchange:
            while not true(entry := exchange.inspect(message)):
                assert time.monotonic() < given_up, entry
                time.sleep(0.01)
            return entry


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def start(scene: Scene) -> Iterator[Start]:
    """Starts the machine with so many workers, whose agents meet as many others as expected."""
    started = []

    def begin(workers: int, *, expected: int = 1, most: int = 0) -> Any:
        program = scene.home / "agent.py"
        program.write_text(MEETING.format(here=str(scene.home), expected=expected))
        agents = {"command": {"argv": [*environment.AGENT_PYTHON, str(program)], "max_parallel": most}}
        environ = {"PATH": os.environ["PATH"], "HOME": str(scene.home)}
        settings = {"agents": agents}
        started.append(machine_process.start(scene.project.root, settings, environ, scene.database, workers))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.join(PATIENCE)
        process.close()


def is_over(entry: MessageEntry) -> bool:
    return bool(entry.claims) and entry.claims[-1].status != "active"


def test_two_workers_do_two_runs_at_once_and_end_with_nothing_left(scene: Scene, start: Start):
    messages = scene.publish(*RUNS)
    machine = start(2, expected=2)
    for message in messages:
        scene.when(message, is_over)
    workers = psutil.Process(machine.pid).children(recursive=True)

    machine.terminate()
    machine.join(PATIENCE)

    assert machine.exitcode == 0
    assert [worker for worker in workers if worker.is_running()] == []
    assert [scene.when(message, is_over).claims[-1].status for message in messages] == ["completed", "completed"]
    assert list((scene.folder / "clones").iterdir()) == []


class Waiting:
    """A worker's lease and its signals, where something happens at the first wait."""

    def __init__(self, happens: Callable[[Waiting], object]) -> None:
        self.stops = 0
        self.waits = 0
        self._happens = happens

    def lost(self, _now: float) -> str:
        return ""

    def renew_if_due(self, _now: float) -> None:
        return

    def wait(self, _seconds: float) -> None:
        self.waits += 1
        self._happens(self)


def stop(waiting: Waiting) -> None:
    waiting.stops += 1


def slot_of(scene: Scene, happens: Callable[[Waiting], object]) -> tuple[bool, int]:
    """Return whether a worker got a slot of an agent with one slot, and after how many waits."""
    parsed = loading.parse({"agents": {"command": {"argv": ["true"], "max_parallel": 1}}})
    machine = machines.describe(scene.project.root, parsed, os.environ, agents=("command",))
    waiting = Waiting(happens)
    worker = SupervisingWorker(waiting, waiting, WorkerIdentity("w", "x", adopted=False))  # type: ignore[arg-type]
    with agent_slots.slot(machine, "command", worker) as is_free:
        return is_free, waiting.waits


def test_a_run_waits_until_another_one_of_its_agent_has_ended(scene: Scene):
    scene.folder.mkdir(parents=True)
    taken = agent_slots.take(scene.folder, "command", 1)
    assert taken is not None

    assert slot_of(scene, stop) == (False, 1)
    assert slot_of(scene, lambda _: os.close(taken)) == (True, 1)
    assert slot_of(scene, stop) == (True, 0)


def test_a_run_that_waits_for_its_agent_is_given_back_when_its_worker_stops(scene: Scene, start: Start):
    scene.folder.mkdir(parents=True)
    taken = agent_slots.take(scene.folder, "command", 1)
    assert taken is not None
    (message,) = scene.publish(RUNS[0])
    machine = start(2, most=1)
    scene.when(message, lambda entry: bool(entry.claims))

    machine.terminate()
    machine.join(PATIENCE)
    os.close(taken)

    assert (machine.exitcode, scene.at_work) == (0, 0)
    entry = scene.when(message, is_over)
    assert (entry.claims[-1].status, entry.delivery.attempts) == ("cancelled", 0)
