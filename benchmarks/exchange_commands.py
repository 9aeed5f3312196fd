"""What the real worker host costs: an answer from a running worker, and twenty workers that have nothing to do."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
from harness import Figure, Row, Sizes, alternate, blank, compared, timed

from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore

_ROUNDS = 101
_BODY = "x" * 1000
_WORKERS = 20
_SECONDS = 10.0
_PATIENCE = timedelta(seconds=60)


def request(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Ask a running worker whose command is `cat`, beside running `cat`."""
    path = folder / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange, _worker(path, "cat"):
        exchange.request("bench", _BODY, patience=_PATIENCE)  # it is up now
        rounds = _ROUNDS if sizes.rounds > 1 else 1
        figure = blank("exchange-request", "`request` to a running `cat` worker, p50", "spawning `cat`", 5)
        yield compared(figure, alternate(timed(lambda: _ask(exchange)), timed(_spawn), rounds))


def idle(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Look at workers that wait: what they write, and what they take of a core."""
    path = folder / "exchange.db"
    seconds = _SECONDS if sizes.rounds > 1 else 0.1
    with Exchange(SqliteStore(path)) as exchange, _worker(path, "true", "--concurrency", str(_WORKERS)) as keeper:
        for _ in range(_WORKERS):
            exchange.request("bench", _BODY, patience=_PATIENCE)
        workers = [keeper, *keeper.children()]
        time.sleep(seconds / 10)  # what they were just told of is looked at
        written, used = _written(path), _used(workers)
        time.sleep(seconds)
        share = 100 * (_used(workers) - used) / seconds
        changed = int(_written(path) != written)
    work = f"{_WORKERS} idle worker hosts for {seconds:g} s"
    yield replace(blank("exchange-host-writes", f"{work}: write transactions", "count", 0, unit=""), value=changed)
    yield replace(blank("exchange-host-idle", f"{work}: share of a core", "-", 1, unit="%"), value=share)


@contextmanager
def _worker(path: Path, command: str, *options: str) -> Iterator[psutil.Process]:
    argv = [sys.executable, "-m", "prloom", "exchange", "run", "bench", "--database", str(path), *options]
    with subprocess.Popen([*argv, "--", command], stderr=subprocess.DEVNULL) as process:
        yield psutil.Process(process.pid)
        process.send_signal(signal.SIGTERM)


def _ask(exchange: Exchange) -> None:
    reply = exchange.request("bench", _BODY, patience=_PATIENCE)
    assert reply is not None  # noqa: S101 (a benchmark of nothing says nothing)
    assert reply.body == _BODY  # noqa: S101


def _spawn() -> None:
    subprocess.run(["cat"], input=_BODY.encode(), stdout=subprocess.PIPE, check=True)


def _used(processes: list[psutil.Process]) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def _written(path: Path) -> tuple[object, ...]:
    with sqlite3.connect(path) as db:
        version = db.execute("SELECT max(seq) FROM messages").fetchone()
    return (version, *(os.stat(f"{path}{end}").st_mtime_ns for end in ("", "-wal", "-lock")))  # noqa: PTH116


ROWS = (Row("exchange-request", request), Row("exchange-hosts", idle))
