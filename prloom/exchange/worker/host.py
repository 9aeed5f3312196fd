"""Run workers: one in this process, or several in processes of their own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from prloom import processes
from prloom.exchange import drafting
from prloom.exchange.errors import StoreError
from prloom.exchange.worker.bell import Bell
from prloom.exchange.worker.guard import Guard
from prloom.exchange.worker.job import Place
from prloom.exchange.worker.news import Trouble
from prloom.exchange.worker.slot import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.worker.news import News, Told
    from prloom.exchange.worker.terms import Terms

_PAUSE: Final = 1.0
"""Seconds between two starts of one worker that ends when it should not."""

_LOOK: Final = 60.0  # seconds; whatever there is to hear is heard at once


class Host:
    """Workers of one kind. This process is theirs: its signals, its children, and what they leave behind.

    `open_exchange` is called in each worker's own process; `name` is what commands find the exchange by.
    """

    def __init__(
        self, terms: Terms, open_exchange: Callable[[], Exchange], *, name: str, tell: Callable[[News], None]
    ) -> None:
        self._terms = terms
        self._open = open_exchange
        self._name = name
        self._tell = tell

    def work(self, *, once: bool = False, leash: int | None = None) -> Told | None:
        """Work in this process until asked to stop (None), or until one message is done with (`once`)."""
        worker = drafting.an_instance()
        guard = Guard(worker)
        place = Place(
            worker=worker,
            exchange=self._name,
            adopted=processes.adopt_orphans(),
            others=tuple(processes.below(os.getpid())),
        )
        bell = Bell(leash)
        with self._open() as exchange:
            told = Slot(self._terms, exchange, bell, place, tell=self._tell).run(once=once)
        guard.dismiss()
        return told

    def work_with(self, count: int) -> None:
        """Work in so many processes, each of which is started again if it ends, until asked to stop."""
        self._open().close()  # what cannot be opened at all is told once, by the error that this raises
        bell = Bell()
        held, leash = os.pipe()
        crew: dict[int, float] = {}
        while not bell.stops:
            if len(crew) < count:
                begun = time.monotonic()
                child = os.fork()
                if child == 0:
                    os.close(leash)
                    self._be_one_of_them(held)
                crew[child] = begun
            else:
                bell.wait((), _LOOK)
                _rest(bell, _collect(crew))
        os.close(leash)
        _dismiss(bell, crew)

    def _be_one_of_them(self, leash: int) -> NoReturn:
        os.setpgid(0, 0)  # Ctrl-C is the keeper's to hear, who passes it on
        code = 0
        try:
            self.work(leash=leash)
        except StoreError as error:
            self._tell(Trouble(str(error), _PAUSE))
            code = 1
        os._exit(code)


def _rest(bell: Bell, begun: list[float]) -> None:
    """Wait where a worker has ended just after it began, for so will the next."""
    if not bell.stops and any(time.monotonic() - each < _PAUSE for each in begun):
        bell.wait((), _PAUSE)


def _dismiss(bell: Bell, crew: dict[int, float]) -> None:
    """Wait until all have stopped, as the leash told them to; pass on it when we are told so again."""
    passed_on = 1
    while crew:
        for child in crew if passed_on < bell.stops else ():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        passed_on = max(passed_on, bell.stops)
        bell.wait((), _LOOK)
        _collect(crew)


def _collect(crew: dict[int, float]) -> list[float]:
    """Forget the workers that have ended, and return when they had begun."""
    ended = []
    with suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            ended += [crew.pop(dead[0])] if dead[0] in crew else []
    return ended
