"""Start workers for agent runs as a dispatcher does, but forked from a process that has imported everything already.

Tests start many, and an interpreter for each would cost more than all else. What the workers do is the real thing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection

from fork_server import processes

from prloom.engine.runs import pool
from prloom.engine.runs.pool_process import Pool

PATIENCE = 60.0


class ForkedPool:
    """A pool that is a grandchild of this process."""

    def __init__(
        self, exchange: str, workers: int, environ: Mapping[str, str], topics: tuple[str, ...] = pool.TOPICS
    ) -> None:
        leash, self._leash = processes.Pipe(duplex=False)
        self.process = processes.Process(target=work, args=(exchange, workers, dict(environ), leash, topics))
        self.process.start()
        leash.close()

    def alive(self) -> bool:
        return self.process.is_alive()

    def end(self) -> None:
        self._leash.close()
        self.process.join(PATIENCE)
        assert not self.process.is_alive(), "the workers do not end"
        self.process.close()


@dataclass(frozen=True)
class StartForked:
    """Starts pools whose runs have this environment."""

    environ: Mapping[str, str]

    def __call__(self, exchange: str, workers: int) -> Pool:
        return ForkedPool(exchange, workers, self.environ)


class KeptPools:
    """Starts one pool for each exchange, which goes on until all are closed, however often a dispatcher ends it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._pools: dict[str, ForkedPool] = {}

    def __call__(self, exchange: str, workers: int) -> Pool:
        found = self._pools.get(exchange)
        if found is None or not found.alive():
            found = self._pools[exchange] = ForkedPool(exchange, workers, self._environ)
        return Kept(found)

    def close(self) -> None:
        for each in self._pools.values():
            each.end()


@dataclass(frozen=True)
class Kept:
    """A pool that is left alone at its dispatcher's end."""

    pool: ForkedPool

    def alive(self) -> bool:
        return self.pool.alive()

    def end(self) -> None:
        pass


def work(exchange: str, workers: int, environ: Mapping[str, str], leash: Connection, topics: tuple[str, ...]) -> None:
    pool.work(exchange, workers, environ, leash=os.dup(leash.fileno()), topics=topics)
