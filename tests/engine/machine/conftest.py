"""A dispatcher and machines that share a database and a bare repository, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import environment
import postgres_server
import psycopg
import pytest
from project import Project
from run_pools import ForkedPool
from workbench import PROGRAM, Run, Workbench, write_script

from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.runs import pool
from prloom.engine.runs.pool_process import Pool
from prloom.engine.work.todo_worker import TodoWorker
from prloom.exchange.postgres import address

ENDED_WITHIN = 60.0


class MachineBench(Workbench):
    """A plan of a repository with a bare remote, whose dispatcher leaves to other machines what they can do."""

    def __init__(self, project: Project, home: Path, url: str) -> None:
        project.git("clone", "--quiet", "--bare", str(project.root), str(home.parent / "hub.git"))
        project.git("remote", "add", "origin", str(home.parent / "hub.git"))
        project.git("fetch", "--quiet", "origin")
        super().__init__(project, home)
        self.url = url
        self.local = False
        self.workers = 1
        self._starts_processes = False

    async def tick(self) -> None:
        self.employ()
        await self.stage.tick()

    def employ(self) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home)}

        def start(exchange: str, workers: int) -> Pool:
            topics = pool.TOPICS if self.local else pool.HERE
            return ForkedPool(exchange, workers, environ, topics)

        agents = AgentPool(
            root=self.project.root,
            environ=environ,
            parallel=1,
            workers=self.workers,
            exchange=self.url,
            local=self.local,
            start_pool=None if self._starts_processes else start,
        )
        self.stage.todo_worker = TodoWorker(agents)

    def tick_killed_at(self, file: Path) -> None:
        """Begin a tick in a process of its own, which is killed as soon as there is a file."""
        child = os.fork()
        if child == 0:
            self._starts_processes = True  # a forked process cannot use the server that forks pools
            try:
                asyncio.run(self.tick())
            finally:
                os._exit(1)
        given_up = time.monotonic() + ENDED_WITHIN
        while not file.exists() and time.monotonic() < given_up:
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the tick has ended before the file was there"

    def end_leases(self) -> None:
        """Have all leases run out on the exchange, as they do where their machines have been silent for too long."""
        where = address.read_url(self.url)
        with psycopg.connect(**where.parameters) as db:
            ended = f"UPDATE {where.schema}.claims SET lease_until = clock_timestamp() WHERE status = 'active'"
            db.execute(ended.encode())

    def hub(self, *argv: str) -> str:
        """Run git in the bare remote."""
        return self.project.git(*argv, cwd=self.home.parent / "hub.git")


class OtherMachine:
    """A machine with a home, a checkout and a configuration of its own, on which `prloom worker` runs."""

    def __init__(self, name: str, bench: MachineBench) -> None:
        self.home = bench.home.parent / name
        self.home.mkdir()
        self.root = self.home / "checkout"
        self._bench = bench
        bench.project.git("clone", "--quiet", str(bench.home.parent / "hub.git"), str(self.root))
        (self.home / "worker.py").write_text(PROGRAM.format(home=str(self.home)))
        self.configure()
        self._process: subprocess.Popen[str] | None = None

    def configure(self, rest: str = "") -> None:
        """Write the machine's own prloom.toml."""
        argv = json.dumps([*environment.AGENT_PYTHON, str(self.home / "worker.py")])
        exchange = json.dumps(self._bench.url)
        (self.root / "prloom.toml").write_text(
            f"[agents.command]\nargv = {argv}\n[exchange]\nurl = {exchange}\n{rest}\n"
        )

    def script(self, *runs: Run, stage: str = "worker") -> None:
        """Say what the runs on this machine do."""
        write_script(self.home, stage, runs)

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "prloom", "-C", str(self.root), "worker", "--agents", "command", *options]

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GITHUB_TOKEN": "a-forge-token",
        }

    def start(self, *options: str) -> None:
        """Start `prloom worker`, and wait until it says that it works."""
        self._process = subprocess.Popen(
            self.command(*options), env=self.environ, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stderr is not None
        begun = self._process.stderr.readline()
        assert "Works for" in begun, begun + self._process.stderr.read()

    def kill(self) -> None:
        """Kill all processes of the machine, as a power failure does."""
        assert self._process is not None
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(ENDED_WITHIN)
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._process = None

    def suspend(self, *, but: str = "") -> None:
        """Stop all processes of the machine as one does that is too busy, or has lost its network; or all but one."""
        for pid in self._pids():
            with suppress(OSError):  # it may have ended by now
                if not but or but not in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        for pid in self._pids():
            with suppress(ProcessLookupError):  # those that go on already may have ended it
                os.kill(pid, signal.SIGCONT)

    def stop_when(self, word: str) -> bool:
        """Return whether the log has a line with a word, waiting for it; then stop."""
        assert self._process is not None
        assert self._process.stderr is not None
        found = any(word in line for line in iter(self._process.stderr.readline, ""))
        self.stop()
        return found

    def _pids(self) -> list[int]:
        """Return the processes that have this machine's home."""
        mark = f"HOME={self.home}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def stop(self) -> str:
        """Have `prloom worker` stop, and return what it has logged."""
        if self._process is None:
            return ""
        process, self._process = self._process, None
        assert process.stderr is not None
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(ENDED_WITHIN)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        with process.stderr:
            return process.stderr.read()

    @property
    def left(self) -> list[str]:
        """What is left of runs in the machine's folder."""
        runs = self.root / "prloom/.local/machine/clones"
        return sorted(each.name for each in runs.iterdir())


@pytest.fixture
def exchange_url(tmp_path: Path) -> str:
    """Where the exchange of all machines is."""
    return postgres_server.at(postgres_server.url(), tmp_path)


@pytest.fixture
def bench(tmp_path: Path, exchange_url: str) -> MachineBench:
    return MachineBench(Project(tmp_path / "project"), tmp_path / "bench", exchange_url)


@pytest.fixture
def machine(bench: MachineBench) -> Iterator[Callable[[str], OtherMachine]]:
    """Makes machines, which are stopped at the end."""
    made: list[OtherMachine] = []

    def make(name: str) -> OtherMachine:
        made.append(OtherMachine(name, bench))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def other(machine: Callable[[str], OtherMachine]) -> OtherMachine:
    return machine("other")
