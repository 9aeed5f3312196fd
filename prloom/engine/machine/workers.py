"""The worker processes of a machine that does runs for a dispatcher elsewhere."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from prloom.agents import run_message
from prloom.engine.machine.jobs import RemoteRuns
from prloom.engine.machine.machine import Machine
from prloom.exchange import validation
from prloom.exchange.exchange import Exchange
from prloom.exchange.message import new_id
from prloom.exchange.worker.config import ClaimConfig
from prloom.exchange.worker.pool import WorkerPool
from prloom.exchange.worker.worker import WorkerEvent

GROUP: Final = "prloom"
"""The group of all workers that do runs: each message is for one of them."""


def build(
    machine: Machine,
    open_exchange: Callable[[], Exchange],
    *,
    name: str,
    lease: timedelta,
    report: Callable[[WorkerEvent], None],
) -> WorkerPool:
    """Return the workers of a machine, which claim the messages of its stages."""
    topics = tuple(run_message.topic(stage) for stage in machine.policy.stages)
    validation.checked_lease(lease)
    config = ClaimConfig(topics=topics, group=GROUP, lease=lease)
    return WorkerPool(config, RemoteRuns(machine), open_exchange, name=name, report=report, instance=new_instance)


def new_instance() -> str:
    """Return a worker's name, by which a dispatcher on the same machine does not take it for one of its own."""
    return run_message.worker_name(socket.gethostname(), f"{os.getpid()}-{new_id()[-6:]}")
