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

PATIENCE = 60.0


def do_one(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path) -> None:
    """Let the machine of a checkout do one message of a database."""
    process = processes.Process(target=_work, args=(root, dict(settings), dict(environ), database))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    process.close()


def _work(root: Path, settings: Mapping[str, Any], environ: Mapping[str, str], database: Path) -> None:
    machine = machines.describe(root, loading.parse(settings), environ, agents=("command",))
    machines.prepare(machine)
    pool = workers.build(
        machine,
        partial(connect, database),
        name=str(database),
        lease=timedelta(minutes=1),
        report=lambda _event: None,
    )
    pool.work(once=True)
