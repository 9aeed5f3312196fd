"""The real command on an exchange of its own, and programs for it to run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from prloom import processes
from prloom.exchange.claim import MessageEntry
from prloom.exchange.exchange import Exchange
from prloom.exchange.message import Message
from prloom.exchange.sqlite.store import SqliteStore

LONG = timedelta(seconds=60)


class Jobs:
    """An exchange in a folder, as the test's own program sees it, and workers on it as a shell would start them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exchange = Exchange(SqliteStore(folder / "jobs.db"))
        self.workers: list[subprocess.Popen[str]] = []

    def program(self, code: str) -> list[str]:
        """Return the command line of a Python program."""
        path = self.folder / f"program-{len(list(self.folder.glob('program-*')))}.py"
        path.write_text(textwrap.dedent(code))
        return [sys.executable, "-S", "-E", str(path)]

    def argv(self, *options: str, command: list[str]) -> list[str]:
        prloom = [sys.executable, "-m", "prloom", "exchange", "run", "jobs"]
        return [*prloom, "--database", str(self.folder / "jobs.db"), *options, "--", *command]

    def once(self, *options: str, command: list[str], code: int = 0) -> str:
        """Have a worker handle one message, expect its exit code, and return what it told."""
        argv = self.argv("--once", *options, command=command)
        ended = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False, timeout=100)
        assert ended.returncode == code, ended.stderr
        return ended.stderr

    def start(self, *options: str, command: list[str]) -> subprocess.Popen[str]:
        """Start a worker."""
        argv = self.argv(*options, command=command)
        self.workers.append(subprocess.Popen(argv, cwd=self.folder, stderr=subprocess.PIPE, text=True, process_group=0))
        return self.workers[-1]

    def reply(self, message: Message) -> Message:
        """Return the reply to a message, waiting for it."""
        reply = self.exchange.wait_for_reply(message.id, patience=LONG)
        assert reply is not None
        return reply

    def entry(self, message: Message) -> MessageEntry:
        return self.exchange.inspect(message.id)

    def pipe(self, name: str) -> Path:
        """Return a new named pipe: opening it waits for the other side, which is how test and program meet."""
        path = self.folder / name
        os.mkfifo(path)
        return path

    def close(self) -> None:
        for worker in self.workers:
            with worker:
                worker.kill()
        self.exchange.close()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    opened = Jobs(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def message(jobs: Jobs) -> Message:
    """Publish a message with the body `x`."""
    return jobs.exchange.publish("jobs", "x")


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Return whether a process ends, and wait a minute for it."""

    def wait(pid: int) -> bool:
        for _ in range(60):
            try:
                psutil.Process(pid).wait(1)
            except psutil.NoSuchProcess:
                return True
            except psutil.TimeoutExpired:
                if not processes.living(pid):
                    return True
            else:
                return True
        return False

    return wait
