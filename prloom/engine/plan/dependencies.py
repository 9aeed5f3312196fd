"""Describe what the work on a plan uses: plugins, bridges, agents, and the tasks that run beside everything else."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from prloom import errors
from prloom.api.bridge import BridgeContext
from prloom.core.events import acknowledgements
from prloom.core.events.dispatch import RunTriage
from prloom.engine.bus.event_store import Clock
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridges
from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=5)
"""How long the end of what was cancelled is waited for."""

AT_ONCE = 8
"""Actions that are under way through one bridge: one that hangs keeps no other waiting, and none waits for hundreds."""

Job = Callable[[], Coroutine[Any, Any, None]]
"""Something that takes time; it begins when it is called."""


class Triager(Protocol):
    """Runs agents on events, and finds out what became of the runs of an earlier dispatcher."""

    def slot(self) -> AbstractAsyncContextManager[object]:
        """Wait until one more agent may run."""

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        """Run an agent on these events and commit what comes of it."""

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        """Settle a run that an earlier dispatcher began, or one whose job has failed."""

    def orphans(self, folders: PlanFolders, state: DispatchState) -> Sequence[str]:
        """Return the runs that an earlier dispatcher may have begun for hooks: no job waits for them."""

    async def stop(self, runs: Sequence[str]) -> None:
        """End those of these runs that go on."""

    async def close(self) -> None:
        """End what does the runs."""

    def services(self, runtime: PlanRuntime) -> PlanServices:
        """Return what a hook of this plan may call."""


class PlanWorker(Protocol):
    """Works on the TODOs of plans."""

    def begin(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Begin what is to be done with a plan's TODOs; return whether there was anything."""

    def keep_pull_request(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Begin what is to be done with a plan's pull request; return whether there was anything."""

    def take_usable(self) -> frozenset[str]:
        """Return the agent programs that can be used again since this was asked last: what waits for them goes on."""

    async def close(self) -> None:
        """End what does the runs."""


class DeliveryLimiter:
    """Limits how many actions are under way through each bridge.

    A bridge sends one request after another, at times with a pause between. So at most one acknowledgement, which has
    low priority, is under way, and it begins only while nothing else is: a reply waits for one of them at most.
    """

    def __init__(self) -> None:
        self._others: Counter[str] = Counter()
        self._room: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._low: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._sent: dict[str, tuple[datetime, ...]] = {}

    @asynccontextmanager
    async def slot(self, bridge: str, clock: Clock, *, low_priority: bool) -> AsyncIterator[bool]:
        """Wait until there is room; with low priority, until nothing else waits or is on its way.

        Yield whether the actions may be sent: few of low priority are, to leave room for the others.
        """
        if low_priority:
            async with self._low[bridge]:
                while self._others[bridge]:
                    self._free[bridge].clear()
                    await self._free[bridge].wait()
                yield self._count(bridge, clock())
            return
        self._others[bridge] += 1
        try:
            async with self._room[bridge]:
                yield True
        finally:
            self._others[bridge] -= 1
            self._free[bridge].set()

    def _count(self, bridge: str, now: datetime) -> bool:
        allowed, sent = acknowledgements.may_be_sent(self._sent.get(bridge, ()), now)
        if allowed:
            self._sent[bridge] = (*sent, now)
        return allowed


class BackgroundTasks:
    """The jobs that run beside everything else; `on_end` is called at the end of each, with its plan's id."""

    def __init__(self, on_end: Callable[[str | None], None], *, patience: timedelta = PATIENCE) -> None:
        self._on_end = on_end
        self._patience = patience
        self._tasks: dict[asyncio.Task[None], PlanRuntime | None] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def spawn(self, runtime: PlanRuntime | None, job: Job) -> None:
        """Begin a job for a plan, or for none; if it fails, its plan does, and no other."""
        task = asyncio.get_running_loop().create_task(_run(runtime, job))
        self._tasks[task] = runtime
        task.add_done_callback(self._done)

    def begin(self, runtime: PlanRuntime, event_ids: Collection[str], job: Job) -> None:
        """Begin a job on events, which are under way from now on until it ends."""
        runtime.in_flight.event_ids.update(event_ids)

        async def run() -> None:
            with runtime.in_flight.working_on(event_ids):
                await job()

        self.spawn(runtime, run)

    async def wait(self) -> None:
        """Wait until one of the jobs has ended."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def cancel(self, runtime: PlanRuntime) -> None:
        """End the jobs of a plan that is gone."""
        for task in [task for task, of in self._tasks.items() if of is runtime]:
            task.cancel()

    async def end(self) -> None:
        """End everything; leave alone what does not end although it was cancelled."""
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        if ending:
            _, stuck = await asyncio.wait(ending, timeout=self._patience.total_seconds())
            for task in stuck:
                log.warning("%r does not end; prloom no longer waits for it", task.get_coro())

    def _done(self, task: asyncio.Task[None]) -> None:
        runtime = self._tasks.pop(task)
        plan_id = None
        if runtime is not None:
            plan_id = runtime.id
        self._on_end(plan_id)


async def _run(runtime: PlanRuntime | None, job: Job) -> None:
    name = "dispatcher"
    then = "the dispatcher continues without it"
    if runtime is not None:
        name = f"plan {runtime.id}"
        then = f"{name} is tried again later"
    try:
        await job()
    except PrloomError as error:
        message = str(error)
        log.warning("%s: %s", name, message)
    except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
        message = errors.log_failure(log, error, then)
    else:
        return
    if runtime is not None:
        runtime.fail(message)


@dataclass(frozen=True)
class BridgeAccess:
    """The bridges, and what a call of one of them needs.

    `secrets` returns values that must not get out by a bridge. `look_up` decides a held event by its author's
    permission.
    """

    loaded: LoadedBridges
    context: Callable[[str], BridgeContext]
    secrets: Callable[[str], Awaitable[Mapping[str, str]]]
    look_up: Callable[[PlanRuntime, str], Coroutine[Any, Any, None]]
    limiter: DeliveryLimiter


class AgentRequests(Protocol):
    """Whom the tools of agents ask: what a trusted person says in a comment may allow a call, or answer a question."""

    def decide(self, runtime: PlanRuntime, event: Event, words: Sequence[str], *, allow: bool) -> str:
        """Carry out `/prloom allow` or `/prloom deny`, whose words follow, and return the reply."""

    def has_question(self, runtime: PlanRuntime) -> bool:
        """Whether an agent of the plan waits for the answer to a question."""

    def answered(self, runtime: PlanRuntime, opened: OpenEvent, event: Event) -> str | None:
        """Return which request an event answers, and settle it; None for an event that answers none."""


@dataclass(frozen=True)
class PlanDependencies:
    """What the work on a plan uses.

    Without agents, events are done with once every plugin got them. What is due later than `horizon` is left to
    another time; without one, whatever is due is done.
    """

    plugin_set: PluginSet
    bridges: BridgeAccess
    triager: Triager
    tasks: BackgroundTasks
    todo_worker: PlanWorker | None = None
    people: AgentRequests | None = None
    agents: bool = True
    horizon: datetime | None = None
