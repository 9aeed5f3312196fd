"""The commands on an exchange of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import command_line
import pytest
from command_line import Ran

from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def exchange(database: Path) -> Iterator[Exchange]:
    """The same exchange as a program sees it."""
    with Exchange(SqliteStore(database)) as opened:
        yield opened


@pytest.fixture
def run(database: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run `prloom exchange …` in this process, as the entry point does."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("PRLOOM_EXCHANGE", str(database))

    def run(*args: str, stdin: bytes | str = "") -> Ran:
        return command_line.run("exchange", *args, stdin=stdin)

    return run


@pytest.fixture
def start(database: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `prloom exchange …` in a process of its own."""
    started = []

    def start(*args: str, **how: Any) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "prloom", "exchange", *args]
        environ = os.environ | {"PRLOOM_EXCHANGE": str(database)}
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        started.append(subprocess.Popen(argv, env=environ, cwd=database.parent, **how))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()
