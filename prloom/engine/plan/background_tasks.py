"""Run what takes time beside everything else, so that no job's failure reaches another plan."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

from prloom.engine import failures
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=5)
"""How long the end of what was cancelled is waited for."""


class BackgroundTasks:
    """The jobs at work. `over` is told of each that has ended, with the id of the plan that it was for."""

    def __init__(self, over: Callable[[str | None], None], *, patience: timedelta = PATIENCE) -> None:
        self._over = over
        self._patience = patience
        self._tasks: dict[asyncio.Task[None], PlanRuntime | None] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def spawn(self, runtime: PlanRuntime | None, job: Job) -> None:
        """Begin a job for a plan, or for none; its failure is the plan's trouble."""
        task = asyncio.get_running_loop().create_task(_guarded(runtime, job))
        self._tasks[task] = runtime
        task.add_done_callback(self._done)

    async def wait(self) -> None:
        """Wait until one of the jobs is over."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def cancel(self, runtime: PlanRuntime) -> None:
        """End what is at work on a plan that is gone."""
        for task in [task for task, of in self._tasks.items() if of is runtime]:
            task.cancel()

    async def end(self) -> None:
        """End everything; what does not end although it was told to is left alone."""
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        if ending:
            _, stuck = await asyncio.wait(ending, timeout=self._patience.total_seconds())
            for task in stuck:
                log.warning("%r does not end; prloom no longer waits for it", task.get_coro())

    def _done(self, task: asyncio.Task[None]) -> None:
        runtime = self._tasks.pop(task)
        self._over(None if runtime is None else runtime.id)


async def _guarded(runtime: PlanRuntime | None, job: Job) -> None:
    try:
        await job()
    except PrloomError as error:
        log.warning("%s: %s", f"plan {runtime.id}" if runtime else "dispatcher", error)
        if runtime is not None:
            runtime.trouble(str(error))
    except Exception as error:  # noqa: BLE001 - `failures.tell` logs it
        if runtime is None:
            failures.tell(log, error, "the dispatcher continues without it")
        else:
            runtime.trouble(failures.tell(log, error, f"plan {runtime.id} is tried again later"))
