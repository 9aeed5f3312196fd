"""Run the dispatcher: poll the bridges, reconcile the plans, and carry out the requests of other commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import inf

from prloom.core.events.dispatch import Subscribers
from prloom.engine import component, idle_plans
from prloom.engine.adoption.by_rule import RuleAdoption
from prloom.engine.bus.event_store import Clock
from prloom.engine.clock_check import ClockCheck
from prloom.engine.component import Component
from prloom.engine.drafts import Drafts
from prloom.engine.file_watcher import FileWatcher
from prloom.engine.health import Health
from prloom.engine.operator import control, request_reader
from prloom.engine.plan import admission, reconcile
from prloom.engine.plan.action_hooks import ActionHooks
from prloom.engine.plan.dependencies import (
    AgentRequests,
    BackgroundTasks,
    BridgeAccess,
    DeliveryLimiter,
    PlanDependencies,
    PlanWorker,
    Triager,
)
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling import network
from prloom.engine.polling.network import Connect, Network
from prloom.engine.polling.pollers import Pollers
from prloom.engine.work_queue import WorkQueue
from prloom.errors import AlreadyRunningError, FolderRemovedError
from prloom.extensions.bridges import LoadedBridges
from prloom.storage import paths


class Dispatcher:
    """Everything at work on one repository. `run` goes on for ever, `once` does exactly one full tick.

    A tick is over at once: what takes time is spawned, and at its end, or when a plan's bus grows, that plan is
    reconciled without a tick. Without a `todo_worker`, TODOs are only collected. `components` run beside it.
    """

    def __init__(
        self,
        registry: PlanRegistry,
        *,
        plugin_set: PluginSet,
        bridges: LoadedBridges,
        triager: Triager,
        rules: Rules,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
        connect: Connect = network.new_client,
        todo_worker: PlanWorker | None = None,
        components: Sequence[Component] = (),
        people: AgentRequests | None = None,
    ) -> None:
        self.registry = registry
        self.bridges = bridges
        self.clock = clock
        self.plugin_set = plugin_set
        registry.plugins = plugin_set.keys
        self._triager = triager
        self._todo_worker = todo_worker
        self._components = components
        self._people = people
        self._rules = rules
        state = registry.local.make_sub(paths.BUS, paths.BUS_STATE)
        self._network = Network(bridges, environ, clock, state, connect=connect)
        self._pollers = Pollers(bridges, state, registry, self._network)
        hooks = ActionHooks(plugin_set, triager.services)
        self._pollers.check_plans(partial(hooks.upsert, registry.repository))
        self._control = request_reader.RequestReader(registry.local)
        self._queue = WorkQueue()
        self._drafts = Drafts(registry.paths.root, registry.local, rules, clock)
        registry.refused_drafts, registry.draft_waits = self._drafts.refused, self._drafts.waits
        self._rule_adoption = RuleAdoption(registry, rules.config, bridges, self._pollers.context)
        self._watcher: FileWatcher | None = None
        self._watched: dict[tuple[str, str], str] = {}
        self._horizon: datetime | None = None
        self._tasks = BackgroundTasks(self._queue.add)
        self._bridge_access = BridgeAccess(
            bridges, self._pollers.context, self._network.secrets, self._pollers.look_up, DeliveryLimiter()
        )
        self._ticked_at = clock()
        self._clock_check = ClockCheck(clock, (registry, self._pollers, plugin_set))
        self._health = Health()

    async def run(self, tick: timedelta) -> None:
        """Run until cancelled, a tick at least this often; raises where prloom's folder is gone, or is another's."""
        try:
            await component.start(self.plugin_set, self._components)
            self._health.begin(self.registry.local)
            watcher = self._watcher = FileWatcher()
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._watch_files(watcher))
                while self._run_tick():
                    await self._work_until_next_tick(tick)
                watching.cancel()
            self.registry.record_heartbeat()
        finally:
            await self._stop()

    async def once(self) -> None:
        """Do one full tick: poll everything, dispatch, wait for all that this began, deliver.

        What comes due meanwhile, and what is appended once the polls are over, is left to the next time: else a plugin
        that puts an event off for a second could keep this from ever ending.
        """
        try:
            await component.start(self.plugin_set, self._components, ready=True)
            self._horizon = self.clock()
            self.poll()
            self.tick()
            while self._tasks or self._queue:
                if not self._queue:
                    await self._tasks.wait()
                self._bound_reading()
                self._work_through(self._queue.drain())
                await asyncio.sleep(0)
            self._health.run_report(self._publish)
        finally:
            await self._stop()

    def poll(self) -> None:
        """Have every bridge polled, whatever its interval says; one that is being polled is polled once more."""
        self._pollers.request_all()

    def tick(self) -> None:
        """Do all that can be done now, and begin what takes time; costs the same however much history there is."""
        for phase in self._phases():
            if phase in {self.registry.record_heartbeat, self._publish}:
                self._health.run_report(phase)
            else:
                phase()

    def _phases(self) -> tuple[Callable[[], None], ...]:
        return (
            self._clock_check.compare,
            self.registry.record_heartbeat,
            self._update_plans,
            self._check_drafts,
            self._adopt_by_rules,
            self._run_requests,
            self._end_agent_waits,
            self._poll,
            self._work_through_all,
            self._publish,
        )

    async def _stop(self) -> None:
        """End what is at work; nothing is lost by that, it is found out by the next start."""
        try:
            self.registry.accepting = False
            await self._tasks.end()
            await self._triager.close()
            if self._todo_worker is not None:
                await self._todo_worker.close()
        finally:
            try:
                await component.close(self.plugin_set, self._components)
                await self._network.close()
            finally:
                self._health.close()
                if self._watcher is not None:
                    self._watcher.close()
                self.registry.close()

    def _update_plans(self) -> None:
        """Look for plans that were adopted or given up since the last tick."""
        self.registry.update(self._rules)
        self._drop_lost()
        if self._watcher is not None and self._watcher.wants(self.registry.runtimes):
            self._watched = {place: each.id for each in self.registry.all() for place in idle_plans.watched(each)}
            folders = [folder for folder, _ in self._watched]
            self._watcher.follow([*folders, self.registry.local.path, self._drafts.path])

    def _drop_lost(self) -> None:
        """End what is at work on plans that are gone: it could write nothing any more."""
        while self.registry.closed:
            self._tasks.cancel(self.registry.closed.pop())

    def _run_tick(self) -> bool:
        """Tick, and return whether to go on; whatever the disk says, the next tick tries. An error is logged once."""
        self._queue.tick_wanted = False
        self._ticked_at = self.clock()
        for phase in self._phases():
            try:
                self._health.run(phase)
            except (FolderRemovedError, AlreadyRunningError):
                return False
        unwatched = None if self._watcher is None else self._watcher.problem
        self._health.report(self.clock() - self._ticked_at, self.registry.unreported_error(), unwatched)
        return True

    def _adopt_by_rules(self) -> None:
        self._rule_adoption.begin(partial(self._tasks.spawn, None), partial(self._begin_plan, ""))

    def _check_drafts(self) -> None:
        if self._drafts.check(self.registry.repository.event_store, partial(self._tasks.spawn, None), self._begin_plan):
            self._queue.add(self.registry.repository.id)

    def _begin_plan(self, plan_id: str) -> None:
        self._update_plans()
        self._queue.add(plan_id)
        self.poll()
        self._poll()

    def _run_requests(self) -> None:
        """Carry out the requests of other commands."""
        take_in = partial(admission.take_in, sign=self.bridges.acknowledgement)
        if control.carry_out_all(self._control, self.registry, take_in):
            self.poll()

    def _end_agent_waits(self) -> None:
        """Have all plans go on that wait for an agent program which can be used again."""
        usable = self._todo_worker.take_usable() if self._todo_worker is not None else frozenset()
        if usable:
            control.end_agent_waits(self.registry, usable)

    def _poll(self) -> None:
        self._pollers.begin(partial(self._tasks.spawn, None), self._queue.add_all)

    def _bound_reading(self) -> None:
        """Once all bridges were polled, take in what is on the buses by now, and nothing that comes later."""
        if not self._pollers:
            self._queue.add_all(each.id for each in self.registry.all() if reconcile.bound_reading(each))

    def _work_through_all(self) -> None:
        for runtime in self.registry.ready:
            self._advance(runtime)

    def _work_through(self, plan_ids: Iterable[str]) -> None:
        """Reconcile plans once, and queue those again in which something changed."""
        for plan_id in plan_ids:
            runtime = self.registry.check(plan_id)
            if runtime is not None:
                self._advance(runtime)
        self._drop_lost()

    def _advance(self, runtime: PlanRuntime) -> None:
        since, stamp = self.clock(), self.registry.idle_plans.stamp(runtime)
        if reconcile.reconcile(runtime, self._subscribers(runtime), self.dependencies(agents=bool(runtime.id))):
            self._queue.add(runtime.id)
        else:
            self.registry.idle_plans.add(runtime, stamp, since)

    def _subscribers(self, runtime: PlanRuntime) -> Subscribers:
        without = runtime.rules.config.plugins.disabled
        if runtime.id:
            return self.plugin_set.subscribers(without)
        return self.plugin_set.repository_subscribers()

    def dependencies(self, *, agents: bool) -> PlanDependencies:
        """Return what the work on a plan uses."""
        return PlanDependencies(
            plugin_set=self.plugin_set,
            bridges=self._bridge_access,
            triager=self._triager,
            tasks=self._tasks,
            todo_worker=self._todo_worker,
            agents=agents,
            people=self._people,
            horizon=self._horizon,
        )

    async def _work_until_next_tick(self, tick: timedelta) -> None:
        """Reconcile the plans in the queue until the time of the next tick has come, or one is requested."""
        loop = asyncio.get_running_loop()
        end = loop.time() + tick.total_seconds()
        while not self._queue.tick_wanted and loop.time() < end:
            if self._queue:
                self._work_through(self._queue.drain())
                await asyncio.sleep(0)
            elif not await self._queue.wait(end, self._seconds_until_due):
                return

    def _seconds_until_due(self) -> float:
        """Return how many seconds it is until something is due; what was due when the last tick began is at work."""
        since = self._ticked_at
        polls = (time.timestamp() for time in self._pollers.next_times() if time > since)
        ahead = min((*polls, *self.registry.next_times(since)), default=inf)
        return max(ahead - self.clock().timestamp(), 0)

    async def _watch_files(self, watcher: FileWatcher) -> None:
        """Hear of what others append."""
        async for folder, name in watcher.hints():
            if name == paths.CONTROL or folder is None or self._drafts.noticed(folder):
                self._queue.want_tick()
            elif (plan_id := self._watched.get((os.fspath(folder), name))) is not None:
                self._queue.add(plan_id)

    def _publish(self) -> None:
        reports = self._pollers.reports(self._rule_adoption.problems)
        self.registry.publish(self.plugin_set.report(), reports, self.clock())
