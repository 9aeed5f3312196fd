"""Start the processes that do agent runs, know whether they live, and have them end."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final, Protocol

from prloom.errors import AgentError
from prloom.exchange import store_url

log = logging.getLogger(__name__)

ONLY_HERE: Final = "here"
"""The argument of a pool that leaves to other machines what they can do."""

PATIENCE: Final = 15.0
"""Seconds in which the runs of a pool that is to end are ended."""


class Pool(Protocol):
    """Worker processes that do the runs of one dispatcher."""

    def alive(self) -> bool:
        """Whether the processes are there; a call collects dead ones."""

    def end(self) -> None:
        """Have the workers finish what they have and end, and wait for that; raise TimeoutError if it takes long."""


StartPool = Callable[[str, int], Pool]
"""Starts a pool for the exchange of that name with so many workers; raises AgentError."""


class PoolProcess:
    """A pool in a session of its own, which outlives this process and then ends by itself."""

    def __init__(
        self,
        exchange: str,
        workers: int,
        *,
        root: Path,
        environ: Mapping[str, str],
        output: Path,
        only_here: bool = False,
    ) -> None:
        """Start it; raises AgentError. With `only_here` it does only what other machines cannot do."""
        argv = [sys.executable, "-P", "-m", "prloom.engine.runs.pool", str(workers)]
        if only_here:
            argv.append(ONLY_HERE)
        try:
            with _opened(output) as file:
                self._process = subprocess.Popen(
                    # -P: the working folder must not be a place to import from.
                    argv,
                    cwd=root,
                    env={**environ, store_url.VARIABLE: exchange},
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
        except OSError as error:
            raise AgentError(f"the processes that run agents cannot be started: {error}; check the machine") from error

    @property
    def pid(self) -> int:
        """The id of the pool's first process, which is the parent of the workers."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the pool is there."""
        return self._process.poll() is None

    def end(self) -> None:
        """Close the pipe that holds the pool, and wait for its end; have it end its runs where that takes long."""
        assert self._process.stdin is not None  # noqa: S101 - requested above
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            log.warning("the processes that run agents do not end; prloom asks them to end their runs at once")
            self._process.terminate()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                log.warning("process %s does not end; prloom no longer waits for it", self._process.pid)


def _opened(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")
