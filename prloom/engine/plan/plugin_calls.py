"""Run a plugin's function about a tool, an action, a plan to write or a run, and commit what it did as a whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

from msgspec.structs import replace

from prloom.core.events import hook_results
from prloom.engine.plan import hooks
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import RunningPlugin
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.extensions.host.interface import HookFailed
from prloom.model.hook import HookCall, Outcome

_RERUNS = 3
"""How often a function is run again because another writer was faster, or because another call ended its process."""

Prepare = Callable[[HookCall], HookCall]
"""Adds to a call what it is about."""


async def run(
    runtime: PlanRuntime,
    plugin: RunningPlugin,
    hook: str,
    services: PlanServices,
    *,
    prepare: Prepare,
    limit: timedelta,
) -> Outcome:
    """Run a plugin's functions for a hook point, commit their state writes and actions, and return the outcome.

    Raises HookFailed, and then nothing of it has taken effect.
    """
    started = time.monotonic()
    for left in reversed(range(_RERUNS + 1)):
        call = prepare(hooks.new_call(runtime, hook, plugin.key))
        pause = timedelta()
        try:
            outcome = await hooks.outcome(plugin, call, services, limit)
        except HookFailed as failure:
            if not left or not (failure.collateral or failure.kind == "waiting"):
                raise
            pause = failure.retry_after or pause
        else:
            stateful = replace(outcome, plan=None)  # the text is not that of the plan, which others may change
            if not hooks.overtaken(runtime.stores_by_scope, plugin.key, "", call, stateful):
                _commit(runtime, plugin, call, outcome, started)
                return outcome
        await asyncio.sleep(pause.total_seconds())
    raise HookFailed(f"plugin {plugin.key}: {hook} was overtaken by other changes of the plan each time")


def _commit(runtime: PlanRuntime, plugin: RunningPlugin, call: HookCall, outcome: Outcome, started: float) -> None:
    writes = hooks.store_writes(runtime.stores_by_scope, plugin.key, outcome)
    if not (writes or outcome.actions or outcome.wakes):
        return
    settled = hook_results.settle(
        call,
        replace(outcome, marks=()),
        runtime.event_store.state.open,
        plugin=plugin.key,
        now=runtime.clock(),
        policy=runtime.rules.backoff,
        plan_target=reply_target(runtime.plan),
    )
    runtime.event_store.commit(
        call.hook,
        plugin.key,
        changes=settled.changes,
        actions=settled.actions,
        writes=writes,
        duration_ms=round((time.monotonic() - started) * 1000),
    )
