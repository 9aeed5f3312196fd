"""Have runs done as a dispatcher does, by workers of an exchange, and see what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from run_pools import StartForked

from prloom.agents import run_status, runner
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.agents.mcp_server import Access
from prloom.agents.run_spec import RunLimits
from prloom.agents.run_status import RunStatus
from prloom.engine.runs.run_exchange import RunExchange

SOON = 0.1


@dataclass
class StartedRun:
    """A run that is published, and the dispatcher's side of it."""

    folder: Path
    exchange: RunExchange
    task: asyncio.Task[RunResult]

    @property
    def id(self) -> str:
        return self.folder.name


def start(
    folder: Path,
    agent: Agent,
    request: RunRequest,
    *,
    environ: Mapping[str, str],
    limits: RunLimits,
    exchange: Path | None = None,
    access: Access | None = None,
) -> StartedRun:
    """Prepare a run and have it done, by a worker of its own."""
    runner.prepare(folder, agent, request, environ=environ, limits=limits, access=access)
    database = exchange or folder.with_name(f"{folder.name}.db")
    opened = RunExchange(str(database), 1, StartForked(environ), check_interval=SOON)
    return StartedRun(folder, opened, asyncio.get_running_loop().create_task(opened.run(folder)))


async def result(run: StartedRun) -> RunResult:
    """Wait for a run, and return what it came to."""
    found = await asyncio.shield(run.task)
    await run.exchange.close()
    return found


async def wait(run: StartedRun) -> RunStatus:
    """Wait for a run, and return what its folder says."""
    await result(run)
    return run_status.inspect(run.folder)


async def stop(run: StartedRun) -> bool:
    """Cancel a run's message; return whether there was one."""
    return await run.exchange.cancel(run.id, "stopped by the test")


async def end(run: StartedRun) -> None:
    """Leave nothing of a run behind, whatever became of it."""
    run.task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await run.task
    await run.exchange.close()
