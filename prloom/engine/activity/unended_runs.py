"""Write the ends of runs that an earlier dispatcher began and that nobody waits for any more."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from prloom import errors
from prloom.agents import registry, run_folder, run_status, runner
from prloom.agents.agent import RunResult
from prloom.agents.run_spec import RunSpec
from prloom.agents.run_status import RunFinished, RunInProgress, RunInterrupted, RunStatus
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.followed_run import FollowedRun
from prloom.errors import StorageError

log = logging.getLogger(__name__)

PAUSE: Final = 2.0
"""Seconds between two looks at the runs that go on."""

QUEUED_FOR: Final = 300.0
"""Seconds in which a run that nobody has begun may still be: it is cancelled within them, or a worker has taken it."""

_MARKS: Final = (run_folder.LOCK, run_folder.SUPERVISOR, run_folder.OUTPUT, run_folder.ELSEWHERE)
"""The files of a run's folder that say that a worker has begun it."""

_INTERRUPTED: Final = RunResult(status="interrupted", trouble="lost")


class UnendedRuns:
    """Ends the activity of each such run as soon as the run is over: a component of the dispatcher.

    A run that somebody waits for again, for it belongs to an event or a TODO, is left to them. One that was published
    and that no worker has begun may be begun before it is cancelled, so it is looked at for some time.
    """

    def __init__(self, activity: ActivityLog, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._activity = activity
        self._monotonic = monotonic
        self._queued_until = monotonic() + QUEUED_FOR
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look for such runs once; where some of them go on, look again until they are over."""
        if await self.end_those_over():
            self._task = asyncio.get_running_loop().create_task(self._wait())

    async def ready(self) -> None:
        """Return at once: no tick needs it."""

    async def close(self) -> None:
        """Leave what goes on to the next dispatcher."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def end_those_over(self) -> tuple[str, ...]:
        """End the activity of the runs that are over, and return those that go on."""
        try:
            unended = await asyncio.to_thread(self._activity.unended)
        except StorageError as error:
            log.warning("which runs have no end in their activity is not known: %s", error)
            return ()
        patient = self._monotonic() < self._queued_until
        return tuple(
            [run for run, plan in unended.items() if not await _ended(self._activity, run, plan, patient=patient)]
        )

    async def _wait(self) -> None:
        try:
            while True:
                await asyncio.sleep(PAUSE)
                if not await self.end_those_over():
                    return
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, "the next start looks for runs without an end again")


async def _ended(activity: ActivityLog, run_id: str, plan_id: str | None, *, patient: bool) -> bool:
    """Whether a run needs to be looked at no more: it is over, and its end is written by now, or somebody has it.

    With `patient`, one that may be begun yet needs to be.
    """
    if activity.is_open(run_id):
        return True
    place = activity.place(plan_id, run_id)
    folder = place.root.joinpath(*place.parts)
    status = await asyncio.to_thread(run_status.inspect, folder)
    if isinstance(status, RunInProgress) or (patient and _is_queued(folder, status)):
        return False
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    agent = spec.agent if spec else ""
    result = await asyncio.to_thread(_result, folder, agent, status)
    if activity.is_open(run_id):  # meanwhile
        return True
    run = await FollowedRun.open(activity, folder, agent, plan_id or "")
    await run.end(result)
    return True


def _is_queued(folder: Path, status: RunStatus) -> bool:
    """Whether no worker has begun the run, as far as its folder tells, and nobody has given it up."""
    if not isinstance(status, RunInterrupted) or run_folder.read_result(folder) is not None:
        return False
    return all(run_folder.read(folder, name, 0) is None for name in _MARKS)


def _result(folder: Path, agent: str, status: RunStatus) -> RunResult:
    """Return what a run came to, as far as its folder tells."""
    found = run_folder.read_result(folder)
    if found is not None:
        return found
    known = registry.AGENTS.get(agent)
    if known is None or not isinstance(status, RunFinished):
        return _INTERRUPTED
    return runner.conclude(folder, known, status)
