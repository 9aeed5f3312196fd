"""What a plan's work is handed to: the plugins, the bridges, the agents, and whoever runs what takes time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from prloom import errors
from prloom.api.bridge import BridgeContext
from prloom.api.context import Services
from prloom.core import acknowledgements
from prloom.core.dispatch import RunTriage
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridges

Job = Callable[[], Coroutine[Any, Any, None]]
"""Something that takes time; it begins when it is called."""

Spawn = Callable[[PlanRuntime, Job], None]
"""Runs a job beside everything else; when it is over, the plan is worked through again."""


class Triager(Protocol):
    """Lets agents deal with events, and finds out what became of runs that nobody here has begun."""

    def turn(self) -> AbstractAsyncContextManager[object]:
        """Wait until one more agent may run."""

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        """Run an agent on these events and commit what comes of it."""

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        """Settle a run that an earlier dispatcher began, or one whose job has failed."""

    def sweep(self, runtime: PlanRuntime) -> None:
        """End the runs that an earlier dispatcher began for hooks: nobody waits for them any more."""

    def services(self, runtime: PlanRuntime) -> Services:
        """Return what a hook of this plan may ask for."""


@dataclass(frozen=True)
class PlanDependencies:
    """Who does what a plan asks for.

    Without agents, events are done with once every plugin has seen them. What is due later than `horizon` is left to
    another time; without one, whatever is due is done. `secrets` are values that must not get out by a bridge.
    """

    plugin_set: PluginSet
    bridges: LoadedBridges
    triager: Triager
    context: Callable[[str], BridgeContext]
    lookup: Callable[[PlanRuntime, str], Coroutine[Any, Any, None]]
    spawn: Spawn
    secrets: Callable[[str], Awaitable[Mapping[str, str]]]
    turns: DeliveryLimiter
    agents: bool = True
    horizon: datetime | None = None

    def begin(self, runtime: PlanRuntime, ids: Iterable[str], job: Job) -> None:
        """Begin a job on events, which are in its hands from now on."""
        runtime.busy |= set(ids)
        self.spawn(runtime, partial(self.hold, runtime, tuple(ids), job))

    async def hold(self, runtime: PlanRuntime, ids: tuple[str, ...], job: Job) -> None:
        """Do a job on events; when it is over, however, they are in nobody's hands."""
        runtime.busy |= set(ids)
        try:
            await job()
        finally:
            runtime.busy -= set(ids)


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
    except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
        if runtime is None:
            errors.log_failure(log, error, "the dispatcher continues without it")
        else:
            runtime.trouble(errors.log_failure(log, error, f"plan {runtime.id} is tried again later"))


AT_ONCE = 8
"""Actions that are under way through one bridge: one that hangs keeps no other waiting, and none waits for hundreds."""


class DeliveryLimiter:
    """A bridge takes one request after another, at times with a pause between. So one courtesy at most is under way.

    And it is begun only while nothing else is on its way through the bridge: a reply waits for one courtesy at most.
    """

    def __init__(self) -> None:
        self._others: Counter[str] = Counter()
        self._room: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._one: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._sent: dict[str, tuple[datetime, ...]] = {}

    @asynccontextmanager
    async def first(self, bridge: str) -> AsyncIterator[None]:
        """Wait until there is room, and hold courtesies back while something waits or is on its way."""
        self._others[bridge] += 1
        try:
            async with self._room[bridge]:
                yield
        finally:
            self._others[bridge] -= 1
            self._free[bridge].set()

    @asynccontextmanager
    async def last(self, bridge: str) -> AsyncIterator[None]:
        """Wait until nothing else is on its way, courtesies of others included."""
        async with self._one[bridge]:
            while self._others[bridge]:
                self._free[bridge].clear()
                await self._free[bridge].wait()
            yield

    def count(self, bridge: str, now: datetime) -> bool:
        """Count one more courtesy, and return whether it may be sent: few are, for the others need the writes."""
        sent = acknowledgements.lately(self._sent.get(bridge, ()), now)
        if not acknowledgements.may_be_sent(sent, now):
            return False
        self._sent[bridge] = (*sent, now)
        return True
