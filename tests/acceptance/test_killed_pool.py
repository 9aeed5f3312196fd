"""`kill -9` of the processes that do agent runs, under the real `prloom start`: others take over, and `why` tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from real_command import Repository
from waiting import until

from prloom import processes

PATIENCE = 60.0
WORKER = """
import json, os, sys, time
from pathlib import Path

sys.stdin.read()
home = Path(__file__).parent
number = len(list(home.glob("run-*")))
(home / f"run-{number}").write_text(str(os.getpid()))
while not (home / f"gate-{number}").exists():
    time.sleep(0.02)
Path(f"made-{number}.py").write_text("made\\n")
print(json.dumps({"outcome": "done", "summary": "It is made.", "commitMessage": f"Make {number}"}))
"""


KILLER = """
import os, subprocess, sys, time
from pathlib import Path

sys.stdin.read()
home = Path(__file__).parent
(home / f"run-{len(list(home.glob('run-*')))}").touch()
pool = subprocess.check_output(["ps", "-o", "ppid=", "-p", str(os.getppid())], text=True)
os.kill(int(pool), 9)
os.kill(os.getppid(), 9)
time.sleep(600)
"""


@pytest.fixture
def working(tmp_path: Path) -> Repository:
    """A repository whose plan has two TODOs, and whose worker waits for a gate of its own in each run."""
    (tmp_path / "home").mkdir()
    made = Repository(tmp_path / "repository", tmp_path / "home")
    made.agent.write_text(WORKER)
    made.configure("", work="")
    for key, value in (("user.name", "t"), ("user.email", "t@example.invalid")):
        made.git("config", key, value)
    made.run("adopt", "--branch", "work")
    for title in ("First", "Second"):
        made.run("todo", "work", "add", title)
    return made


def pool_of(dispatcher: int) -> psutil.Process:
    """Return the first process of the dispatcher's pool."""
    return next(each for each in psutil.Process(dispatcher).children() if is_pool(each))


def is_pool(process: psutil.Process) -> bool:
    """Whether a process is a pool; one of git's that has ended meanwhile is none."""
    with suppress(psutil.Error):
        return "prloom.engine.runs.pool" in process.cmdline()
    return False


def test_a_pool_that_is_killed_is_replaced_each_todo_has_one_commit_and_why_tells_of_it(working: Repository):
    home = working.agent.parent
    dispatcher = working.begin("start")
    try:
        until((home / "run-0").exists)
        pool = pool_of(dispatcher.pid)
        processes.kill([pool, *pool.children()])  # with the workers: the run is cut short
        until((home / "run-1").exists)
        second = pool_of(dispatcher.pid)
        second.kill()  # alone: its workers finish what they have
        (home / "gate-1").touch()
        until((home / "run-2").exists)
        third = pool_of(dispatcher.pid)
        (home / "gate-2").touch()
        until(lambda: working.plan()["todos"]["done"] == 2)
    finally:
        dispatcher.terminate()
        dispatcher.wait(PATIENCE)

    assert len({pool.pid, second.pid, third.pid}) == 3
    assert not (home / "run-3").exists()
    assert working.git("log", "--reverse", "--format=%s", "main..work").splitlines() == ["Make 1", "Make 2"]
    first, _ = working.json("todo", "work")["todos"]
    assert "worker was killed" in working.run("why", first["id"]).stdout
    assert not psutil.pid_exists(int((home / "run-0").read_text()))
    assert first["attempts"] == 1  # the run that was lost is none
    runs = working.json("runs")["runs"]
    assert [run["status"] for run in runs] == ["interrupted", "ok", "ok"]
    logged = working.run("logs", runs[0]["id"], "--json").stdout.splitlines()
    assert "interrupted" in logged[-1]


def test_a_worker_that_kills_the_processes_of_its_run_again_has_failed(working: Repository):
    working.agent.write_text(KILLER)
    todo = working.json("todo", "work")["todos"][0]["id"]
    dispatcher = working.begin("start")
    try:
        until(lambda: "failed attempt 1: the run's worker was killed" in working.run("why", todo).stdout)
    finally:
        dispatcher.terminate()
        dispatcher.wait(PATIENCE)

    assert len(list(working.agent.parent.glob("run-*"))) == 2
    assert "Now open; it waits until" in working.run("why", todo).stdout
