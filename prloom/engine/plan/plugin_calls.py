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
from prloom.model.hook_points import HookPoint

SLOW = timedelta(seconds=1)
"""From this time on, a call is recorded even if it has decided nothing: `prloom stats` names the slow plugins."""
_RERUNS = 3
"""How often a function is run again because another writer was faster, or because another call ended its process."""

Prepare = Callable[[HookCall], HookCall]
"""Adds to a call what it is about."""


async def run(
    runtime: PlanRuntime,
    plugin: RunningPlugin,
    hook: HookPoint,
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
                _commit(runtime, plugin, hook, call, outcome, took=timedelta(seconds=time.monotonic() - started))
                return outcome
        await asyncio.sleep(pause.total_seconds())
    raise HookFailed(f"plugin {plugin.key}: {hook} was overtaken by other changes of the plan each time")


def _commit(
    runtime: PlanRuntime, plugin: RunningPlugin, hook: HookPoint, call: HookCall, outcome: Outcome, *, took: timedelta
) -> None:
    if not is_recorded(outcome, took):
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
        hook,
        plugin.key,
        changes=settled.changes,
        actions=settled.actions,
        writes=hooks.store_writes(runtime.stores_by_scope, plugin.key, outcome),
        duration_ms=took // timedelta(milliseconds=1),
    )


def is_recorded(outcome: Outcome, took: timedelta) -> bool:
    """Whether a call is recorded as a decision: it has an effect of its own, or was slow."""
    writes = any(write.values or write.deleted for write in outcome.writes)
    return writes or bool(outcome.actions or outcome.wakes) or took >= SLOW
