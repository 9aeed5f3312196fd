"""Say which agents would run, in place of what runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from prloom.config import stages
from prloom.config.models import Config
from prloom.core.events import hook_results
from prloom.core.events.dispatch import RunTriage
from prloom.core.work import work_results
from prloom.core.work.work_steps import Take, next_step
from prloom.engine.plan import agent_pool
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.hook_services import HookServices, PlanServices
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import AgentError
from prloom.model.kinds import TRIAGE
from prloom.model.state import DispatchState


class DryTriager:
    """A triager that says which agent would run."""

    def __init__(self, config: Config, registry: PlanRegistry) -> None:
        self._agent = stages.stage(config, TRIAGE).agent
        self._registry = registry

    def slot(self) -> asyncio.Semaphore:
        """Return a semaphore that is free: nothing is run."""
        return asyncio.Semaphore()

    def orphans(self, folders: PlanFolders, state: DispatchState) -> Sequence[str]:
        """Leave the runs of the real dispatcher alone."""
        return ()

    async def stop(self, runs: Sequence[str]) -> None:
        """Do nothing: there are none."""

    async def close(self) -> None:
        """Do nothing: there is nothing that runs."""

    def services(self, runtime: PlanRuntime) -> PlanServices:
        """Return the services of hooks; agents are not among them."""
        return HookServices(runtime, run=_no_agent, read_plan=self._registry.read_plan)

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        """Put the events aside in the copy."""
        if self._agent == "auto":
            agent = "the first installed agent"
        else:
            agent = self._agent
        changes = tuple(hook_results.park(event_id, f"would be triaged by {agent}") for event_id in step.event_ids)
        runtime.event_store.commit(TRIAGE, self._agent, changes=changes)

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        """Leave the runs of the real dispatcher alone."""
        changes = tuple(hook_results.park(event_id, f"is in run {run}") for event_id in event_ids)
        runtime.event_store.commit(TRIAGE, self._agent, changes=changes)


class DryWorker:
    """A worker that says which agent would work on a TODO, and on which."""

    def __init__(self, config: Config, root: Path) -> None:
        self._agent = stages.stage(config, "worker").agent
        self._root = root

    def take_usable(self) -> frozenset[str]:
        """Return none: no agent is run."""
        return frozenset()

    async def close(self) -> None:
        """Do nothing: there is nothing that runs."""

    def begin(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Take the next TODO in the copy, and no other."""
        if runtime.in_flight.took or runtime.plan.status != "active":
            return False
        state, todos = runtime.event_store.state, runtime.text.todos()
        step = next_step(state, todos, runtime.rules.work, now=runtime.clock())
        if not isinstance(step, Take):
            return False
        runtime.in_flight.took = True
        limit = agent_pool.daily_limit(self._root, runtime.rules.config, runtime.id, runtime.clock())
        parts = work_results.taken(step, ())
        if limit is not None:
            parts["note"] = limit.reason
        runtime.event_store.commit("work", self._agent, **parts)
        return True

    def keep_pull_request(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Leave the forge alone."""
        return False


async def _no_agent(runtime: PlanRuntime, stage: str, text: str, model: str | None, plugin: str | None) -> str:
    raise AgentError(f"a dry run does not start agents (the hook requested stage {stage} on plan {runtime.id})")
