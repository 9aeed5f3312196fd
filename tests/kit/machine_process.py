"""Let a worker machine do one message in a process of its own, forked from one that has imported everything already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from fork_server import processes

from prloom.config import loading
from prloom.engine.machine import machine as machines
from prloom.engine.machine import workers
from prloom.exchange import connect
from prloom.exchange.worker.pool import WorkerPool

PATIENCE = 240.0


def do_one(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path) -> None:
    """Let the machine of a checkout do one message of a database."""
    process = processes.Process(target=_work, args=(root, dict(settings), dict(environ), database))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    process.close()


def start(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path, count: int) -> Any:
    """Start the machine of a checkout with so many workers, and return its process, which ends when it is asked to."""
    process = processes.Process(target=_work_with, args=(root, dict(settings), dict(environ), database, count))
    process.start()
    return process


def _work_with(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path, count: int) -> None:
    _pool(root, settings, environ, database).work_with(count)


def _work(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path) -> None:
    _pool(root, settings, environ, database).work(once=True)


def _pool(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path) -> WorkerPool:
    machine = machines.describe(root, loading.parse(settings), environ, agents=("command",))
    machines.prepare(machine)
    return workers.build(
        machine,
        partial(connect, database),
        name=str(database),
        lease=timedelta(minutes=1),
        report=lambda _event: None,
    )
