"""Run workers: one in this process, or several in processes of their own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from prloom import processes
from prloom.exchange import validation
from prloom.exchange.errors import StoreError
from prloom.exchange.worker.job import WorkerIdentity
from prloom.exchange.worker.progress import WorkerError
from prloom.exchange.worker.signal_pipe import SignalPipe
from prloom.exchange.worker.watchdog import Watchdog
from prloom.exchange.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.worker.config import WorkerConfig
    from prloom.exchange.worker.progress import News, Progress

_PAUSE: Final = 1.0
"""Seconds between two starts of one worker that ends when it should not."""

_LOOK: Final = 60.0  # seconds; whatever there is to hear is heard at once


class WorkerPool:
    """Workers of one kind. This process is theirs: its signals, its children, and what they leave behind.

    `open_exchange` is called in each worker's own process; `name` is what commands find the exchange by.
    """

    def __init__(
        self, terms: WorkerConfig, open_exchange: Callable[[], Exchange], *, name: str, tell: Callable[[News], None]
    ) -> None:
        self._terms = terms
        self._open = open_exchange
        self._name = name
        self._tell = tell

    def work(self, *, once: bool = False, leash: int | None = None) -> Progress | None:
        """Work in this process until asked to stop (None), or until one message is done with (`once`)."""
        worker = validation.an_instance()
        guard = Watchdog(worker)
        place = WorkerIdentity(
            worker=worker,
            exchange=self._name,
            adopted=processes.adopt_orphans(),
            others=tuple(processes.below(os.getpid())),
        )
        bell = SignalPipe(leash)
        with self._open() as exchange:
            told = Worker(self._terms, exchange, bell, place, tell=self._tell).run(once=once)
        guard.dismiss()
        return told

    def work_with(self, count: int) -> None:
        """Work in so many processes, each of which is started again if it ends, until asked to stop."""
        self._open().close()  # what cannot be opened at all is told once, by the error that this raises
        bell = SignalPipe()
        held, leash = os.pipe()
        plugin_set: dict[int, float] = {}
        while not bell.stops:
            if len(plugin_set) < count:
                begun = time.monotonic()
                child = os.fork()
                if child == 0:
                    os.close(leash)
                    self._be_one_of_them(held)
                plugin_set[child] = begun
            else:
                bell.wait((), _LOOK)
                _rest(bell, _collect(plugin_set))
        os.close(leash)
        _dismiss(bell, plugin_set)

    def _be_one_of_them(self, leash: int) -> NoReturn:
        os.setpgid(0, 0)  # Ctrl-C is the keeper's to hear, who passes it on
        code = 0
        try:
            self.work(leash=leash)
        except StoreError as error:
            self._tell(WorkerError(str(error), _PAUSE))
            code = 1
        os._exit(code)


def _rest(bell: SignalPipe, begun: list[float]) -> None:
    """Wait where a worker has ended just after it began, for so will the next."""
    if not bell.stops and any(time.monotonic() - each < _PAUSE for each in begun):
        bell.wait((), _PAUSE)


def _dismiss(bell: SignalPipe, plugin_set: dict[int, float]) -> None:
    """Wait until all have stopped, as the leash told them to; pass on it when we are told so again."""
    passed_on = 1
    while plugin_set:
        for child in plugin_set if passed_on < bell.stops else ():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        passed_on = max(passed_on, bell.stops)
        bell.wait((), _LOOK)
        _collect(plugin_set)


def _collect(plugin_set: dict[int, float]) -> list[float]:
    """Forget the workers that have ended, and return when they had begun."""
    ended = []
    with suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if dead[0] in plugin_set:
                ended += [plugin_set.pop(dead[0])]
            else:
                ended += []
    return ended
