"""Keep to `[agents.<name>] max_parallel` on a machine, whatever the number of its workers: by one lock for each run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prloom import flock
from prloom.agents.supervision import SupervisingWorker
from prloom.engine.machine.machine import Machine

_FOLDER: Final = "slots"
_PAUSE: Final = 1.0  # seconds between two looks for a free slot


@contextmanager
def slot(machine: Machine, agent: str, worker: SupervisingWorker) -> Iterator[bool]:
    """Wait for a slot of an agent, and keep it; meanwhile, the worker's lease is renewed.

    Yields False where the worker is to stop, or has lost its lease, before there is one.
    """
    most = machine.config.agents.max_parallel(agent)
    if not most:
        yield True
        return
    taken = take(machine.folder, agent, most)
    while taken is None and not worker.signals.stops and not worker.lease.lost(time.monotonic()):
        worker.lease.renew_if_due(time.monotonic())
        worker.signals.wait(_PAUSE)
        taken = take(machine.folder, agent, most)
    try:
        yield taken is not None
    finally:
        if taken is not None:
            os.close(taken)


def take(folder: Path, agent: str, most: int) -> int | None:
    """Return a descriptor that keeps one of the `most` slots of an agent until it is closed; None if all are taken.

    `folder` is the machine's. The kernel frees the slot of a worker that is killed.
    """
    slots = folder / _FOLDER
    slots.mkdir(mode=0o700, exist_ok=True)
    for number in range(most):
        slot = os.open(slots / f"{agent}-{number}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if flock.try_lock(slot):
            return slot
        os.close(slot)
    return None
