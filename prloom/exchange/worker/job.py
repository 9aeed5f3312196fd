"""Define what a worker does with a message that it has claimed: the interface of its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import psutil

    from prloom.exchange.claim import Settlement
    from prloom.exchange.worker.lease import Lease
    from prloom.exchange.worker.supervisor import SignalPipe


@dataclass(frozen=True)
class WorkerIdentity:
    """A worker's name, its exchange's name, whether it adopts orphans, and the processes that it leaves alone.

    A program that becomes a worker (`exec`) may have children already, which the worker did not start.
    """

    worker: str
    exchange: str
    adopted: bool
    spared: tuple[psutil.Process, ...] = ()


@dataclass(frozen=True)
class JobLost:
    """The worker no longer has the claim, so that there is nothing to settle; `why` says how it was lost.

    `late` is how it would have been settled, if the work has come to an end all the same.
    """

    why: str
    late: Settlement | None = None


def late_topic(topic: str) -> str:
    """Return where the results of workers are published that had lost their claim by then, for people to read."""
    return f"{topic}.late"


class Jobs(Protocol):
    """Does the work of one kind of worker, one claimed message at a time."""

    def run(self, lease: Lease, signals: SignalPipe, identity: WorkerIdentity) -> Settlement | JobLost:
        """Work on the message of a lease, and return how to settle its claim when all that was started is gone.

        Meanwhile, renew the lease and hear the signals: the first request to stop asks to come to an end, the second
        one to end at once.
        """
        ...
