"""How much longer a run takes than its program started by hand: until the program starts, and after its end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from harness import Figure, Row, Sizes, alternate, span

from prloom.agents import run_spec, runner, sandbox_check
from prloom.agents.agent import RunRequest
from prloom.agents.programs import command
from prloom.agents.run_spec import RunLimits
from prloom.agents.sandbox import Sandbox
from prloom.engine.runs.pool_process import PoolProcess
from prloom.engine.runs.run_exchange import RunExchange

PROGRAM = (sys.executable, "-S", "-E", "-c", "import sys, time; sys.stdin.read(); print(time.time())")
_WORKERS = 4
_MOST_MS = 50
_MOST_IN_SANDBOX_MS = 60
_WITHOUT = "the same run without a sandbox"


class Runs:
    """Runs of a program that says when it was started, by prloom and by hand; `ends` are the seconds after that."""

    def __init__(self, folder: Path, exchange: RunExchange, loop: asyncio.Runner) -> None:
        self._folder = folder
        self._exchange = exchange
        self._loop = loop
        self.ends: dict[str, list[float]] = {"prloom": [], "sandboxed": [], "by hand": []}

    def by_prloom(self) -> float:
        """Return how long it took from the decision to have a run until its program was started."""
        return self._run("prloom", None)

    def _run(self, side: str, shown: Sandbox | None) -> float:
        begun = time.time()
        folder = self._folder / run_spec.new_id(datetime.now(UTC), "triage")
        request = RunRequest(
            prompt="Go.",
            stage="triage",
            cwd=self._folder,
            root=self._folder,
            rights="read",
            argv=PROGRAM,
            sandbox=shown,
        )
        runner.prepare(folder, command, request, environ=os.environ, limits=RunLimits())
        said = self._loop.run(self._exchange.run(folder)).message
        return self._measured(side, begun, said)

    def sandboxed(self) -> float:
        """Return what `by_prloom` does for a run in a sandbox."""
        return self._run("sandboxed", Sandbox(hidden=("/srv",), write=(str(self._folder),)))

    def by_hand(self) -> float:
        """Return the same for the program alone."""
        begun = time.time()
        said = subprocess.run(PROGRAM, input="Go.", capture_output=True, text=True, check=True).stdout
        return self._measured("by hand", begun, said)

    def _measured(self, side: str, begun: float, said: str) -> float:
        started = float(said)
        self.ends[side].append(time.time() - started)
        return started - begun


def runs(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure what prloom adds before and after the program of a triage run."""
    start = partial(PoolProcess, root=folder, environ=os.environ, output=folder / "pool.log")
    exchange = RunExchange(str(folder / "exchange.db"), _WORKERS, start)
    with asyncio.Runner() as loop:
        loop.run(exchange.start())
        measured = Runs(folder, exchange, loop)
        paired = alternate(measured.by_prloom, measured.by_hand, sizes.latency_rounds, warm=3)
        boxed = None
        if sandbox_check.problem(os.environ) is None:
            boxed = alternate(measured.sandboxed, measured.by_prloom, sizes.latency_rounds, warm=3)
        loop.run(exchange.close())
    if boxed is not None:
        yield _figure("sandbox", "a run starts in the sandbox, added (p50)", boxed.subject, boxed.yardstick, _WITHOUT)
    yield _figure(
        "run start", "decision → a triage run's program starts, added (p50)", paired.subject, paired.yardstick
    )
    ended, by_hand = (_median(measured.ends[side]) for side in ("prloom", "by hand"))
    yield _figure("run end", "a run's program ends → its result is there, added (p50)", ended, by_hand)


def _median(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


def _figure(row: str, work: str, subject: float, yardstick: float, against: str = "the program alone") -> Figure:
    return Figure(
        row,
        work,
        against,
        _MOST_IN_SANDBOX_MS if against == _WITHOUT else _MOST_MS,
        max(subject - yardstick, 0.0) * 1000,
        unit="ms",
        subject_took=span(subject),
        yardstick_took=span(yardstick),
    )


ROWS = (Row("agent runs", runs),)
