"""Give each job a thread that has nothing else to do, and keep a few for later ones: to start one takes 0.2 ms."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue

Job = Callable[[], object]
"""What is to be done; it raises nothing, and what it returns is nobody's business."""

KEPT = 4
"""How many threads are kept: the stack of each counts for the memory that the process may have."""


class Threads:
    """The threads that wait for a job, each at a queue of its own. Jobs are begun from one thread only."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job]] = []
        self._room = threading.Semaphore(KEPT)

    def begin(self, job: Job) -> None:
        """Do a job beside all others, in a context that is as empty as that of a new thread."""
        if self._idle:
            jobs = self._idle.pop()
            self._room.release()
        else:
            jobs = SimpleQueue()
            threading.Thread(target=self._work, args=(jobs,), name="plugin call", daemon=True).start()
        jobs.put(job)

    def _work(self, jobs: SimpleQueue[Job]) -> None:
        Context().run(jobs.get())
        while self._room.acquire(blocking=False):
            self._idle.append(jobs)
            Context().run(jobs.get())
