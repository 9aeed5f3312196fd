"""What a plan's work is handed to: the plugins, the bridges, the agents, and whoever runs what takes time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from prloom.api.bridge import BridgeContext
from prloom.api.context import Services
from prloom.core.dispatch import RunTriage
from prloom.engine.plan.delivery_limiter import DeliveryLimiter
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.runtime import PlanRuntime
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
