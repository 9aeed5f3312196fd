"""Run workers: one in this process, or several in processes of their own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from prloom import children, processes
from prloom.exchange import validation
from prloom.exchange.errors import StoreError
from prloom.exchange.worker.job import WorkerIdentity
from prloom.exchange.worker.supervisor import SignalPipe, Watchdog
from prloom.exchange.worker.worker import Worker, WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.worker.config import ClaimConfig
    from prloom.exchange.worker.job import Jobs
    from prloom.exchange.worker.worker import MessageProgress, WorkerEvent

_RESTART_PAUSE: Final = 1.0
"""Seconds between two starts of one worker that ends when it should not."""

_LONGEST_WAIT: Final = 60.0  # seconds; a signal ends a wait at once


class WorkerPool:
    """Workers of one kind. This process is theirs: its signals, its children, and what they leave behind.

    `open_exchange` is called in each worker's own process, and so is `instance`, which names the worker; `name` is what
    commands find the exchange by.
    """

    def __init__(
        self,
        config: ClaimConfig,
        jobs: Jobs,
        open_exchange: Callable[[], Exchange],
        *,
        name: str,
        report: Callable[[WorkerEvent], None],
        instance: Callable[[], str] = validation.new_instance,
    ) -> None:
        self._config = config
        self._jobs = jobs
        self._open = open_exchange
        self._name = name
        self._report = report
        self._instance = instance

    def work(self, *, once: bool = False, leash: int | None = None) -> MessageProgress | None:
        """Work in this process until asked to stop (None), or until one message is done with (`once`)."""
        worker = self._instance()
        watchdog = Watchdog(worker)
        identity = WorkerIdentity(
            worker=worker,
            exchange=self._name,
            adopted=processes.adopt_orphans(),
            spared=tuple(processes.below(os.getpid())),
        )
        signals = SignalPipe(leash)
        with self._open() as exchange:
            progress = Worker(self._config, self._jobs, exchange, signals, identity, report=self._report).run(once=once)
        watchdog.dismiss()
        return progress

    def work_with(self, count: int, *, leash: int | None = None) -> None:
        """Work in so many processes, each of which is started again if it ends, until asked to stop.

        That the other end of the pipe `leash` is closed is a request to stop, too.
        """
        self._open().close()  # what cannot be opened at all is reported once, by the error that this raises
        signals = SignalPipe(leash)
        own_leash, pool_end = os.pipe()
        started: dict[int, float] = {}  # when each worker was started, by its process id
        while not signals.stops:
            if len(started) < count:
                now = time.monotonic()
                child = os.fork()
                if child == 0:
                    os.close(pool_end)
                    signals.close()
                    self._run_worker(own_leash)
                started[child] = now
            else:
                signals.wait(_LONGEST_WAIT)
                _pause_before_restart(signals, _collect(started))
        os.close(pool_end)
        _wait_for_end(signals, started)

    def _run_worker(self, leash: int) -> NoReturn:
        os.setpgid(0, 0)  # Ctrl-C at the terminal goes to the pool, which passes it on
        code = 0
        try:
            self.work(leash=leash)
        except StoreError as error:
            self._report(WorkerError(str(error), _RESTART_PAUSE))
            code = 1
        os._exit(code)


def _pause_before_restart(signals: SignalPipe, started: list[float]) -> None:
    """Wait where a worker has ended just after its start, because the next one will too."""
    if not signals.stops and any(time.monotonic() - each < _RESTART_PAUSE for each in started):
        signals.wait(_RESTART_PAUSE)


def _wait_for_end(signals: SignalPipe, started: dict[int, float]) -> None:
    """Wait until all workers have stopped, as the closed leash tells them to; pass on each further request to stop."""
    passed_on = 1
    while started:
        if passed_on < signals.stops:
            for child in started:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGTERM)
            passed_on = signals.stops
        signals.wait(_LONGEST_WAIT)
        _collect(started)


def _collect(started: dict[int, float]) -> list[float]:
    """Remove the workers that have ended, and return when they were started."""
    ends: dict[int, int] = {}
    children.collect(ends)
    return [started.pop(child) for child in ends if child in started]
