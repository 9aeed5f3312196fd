"""A run whose message is cancelled while its worker is about to start the program."""

from __future__ import annotations

import os
import sys
from collections.abc import ItemsView
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from fork_server import processes

from prloom.agents import run_folder, run_spec, run_status, runner
from prloom.agents.agent import RunRequest
from prloom.agents.programs import command
from prloom.agents.run_job import LocalRuns
from prloom.agents.run_spec import RunLimits
from prloom.engine.runs.pool import LEASE, TOPICS
from prloom.engine.runs.run_exchange import RunExchange
from prloom.exchange import connect
from prloom.exchange.worker.config import ClaimConfig
from prloom.exchange.worker.pool import WorkerPool


@dataclass
class OneWorker:
    """A pool whose worker does one run; what it looks up for the program, it looks up when the run is cancelled."""

    process: BaseProcess

    def alive(self) -> bool:
        return True

    def end(self) -> None:
        self.process.join(60)


def start(exchange: str, workers: int, *, run: str) -> OneWorker:
    process = processes.Process(target=work, args=(exchange, run, dict(os.environ)))
    process.start()
    return OneWorker(process)


def work(exchange: str, run: str, environ: dict[str, str]) -> None:
    jobs = LocalRuns(CancellingEnvironment(environ, exchange, run))
    config = ClaimConfig(topics=TOPICS, group="prloom", lease=LEASE)
    WorkerPool(config, jobs, partial(connect, exchange), name=exchange, report=lambda _: None).work(once=True)


class CancellingEnvironment(dict[str, str]):
    """An environment that cancels the run when it is read to start the program."""

    def __init__(self, environ: dict[str, str], exchange: str, run: str) -> None:
        super().__init__(environ)
        self._exchange, self._run = exchange, run

    def items(self) -> ItemsView[str, str]:
        with connect(self._exchange) as opened:
            opened.cancel(self._run, "nobody waits for it any more")
        return super().items()


async def test_a_run_that_was_cancelled_in_the_meantime_is_not_started(tmp_path: Path) -> None:
    argv = (sys.executable, "-S", "-E", "-c", "print('up')")
    request = RunRequest(prompt="", stage="worker", cwd=tmp_path, root=tmp_path, rights="work", plan="pr-7", argv=argv)
    folder = tmp_path / run_spec.new_id(datetime.now(UTC), "worker")
    runner.prepare(folder, command, request, environ=os.environ, limits=RunLimits())
    runs = RunExchange(str(tmp_path / "exchange.db"), 1, partial(start, run=folder.name), check_interval=0.1)

    result = await runs.run(folder)
    await runs.close()

    assert run_status.was_begun(folder)
    assert not (folder / run_folder.OUTPUT).exists()
    assert not (folder / run_folder.SUPERVISOR).exists()
    assert result.status == "interrupted"
