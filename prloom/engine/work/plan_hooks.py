"""Run the plan hooks of all plugins, one after the other, and commit what each of them did as a whole."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from prloom.core.events import hook_results
from prloom.core.plans.plan_file import TodoItem
from prloom.core.work import work_results
from prloom.engine.plan import hooks
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.work.context import current
from prloom.errors import PrloomError
from prloom.extensions.host.interface import HookFailed
from prloom.model.hook import HookCall, HookTodo, Outcome
from prloom.model.hook_points import HookName
from prloom.model.work import TodoWork, WorkStep

log = logging.getLogger(__name__)

_RERUNS = 3
"""How often a hook is run again because another writer was faster, or because another call ended its process."""


class PlanHookBlockedError(PrloomError):
    """A plan hook failed, or asked for the plan to be blocked; the text names the plugin and says why."""


@dataclass(frozen=True)
class PlanHook:
    """A hook point of a plan, and what it is about.

    `done` are the keys of plugins whose hook has run already; `record` returns the step that is committed together with
    the outcome of one more plugin's hook.
    """

    name: HookName
    done: Collection[str]
    record: Callable[[str], WorkStep]
    todo: HookTodo | None = None
    diff: str | None = None
    summary: str | None = None


def of_todo(runtime: PlanRuntime, name: HookName, work: TodoWork, item: TodoItem) -> PlanHook:
    """Return a hook about the TODO that is worked on; which plugins' hooks have run is kept in the work."""
    return PlanHook(
        name,
        work.hooked,
        lambda plugin: work_results.hooked(current(runtime.event_store.state, work), plugin),
        todo=HookTodo(id=work.id, title=item.title, context=item.context, event_ids=work.event_ids),
        summary=work.summary,
    )


def keys(rules: Rules, hook: str, plugins: PluginSet) -> tuple[str, ...]:
    """Return the keys of the plugins that have a hook for a plan with these rules, in their order."""
    return plugins.with_hook(hook, rules.config.plugins.disabled)


async def run_all(runtime: PlanRuntime, hook: PlanHook, plugins: PluginSet, services: PlanServices) -> None:
    """Run a hook of every plugin that has it and has not run it yet.

    Raises PlanHookBlockedError where one fails or blocks the plan; what those before it did has taken effect.
    """
    for key in keys(runtime.rules, hook.name, plugins):
        if key not in hook.done:
            await _run(runtime, hook, plugins[key], services)


async def _run(runtime: PlanRuntime, hook: PlanHook, plugin: RunningPlugin, services: PlanServices) -> None:
    started = time.monotonic()
    for again in range(_RERUNS + 1):
        call = hooks.new_call(runtime, hook.name, plugin.key, todo=hook.todo, diff=hook.diff, summary=hook.summary)
        pause = timedelta()
        try:
            outcome = await hooks.outcome(plugin, call, services, runtime.rules.hook_timeout)
        except HookFailed as failure:
            if again == _RERUNS or not (failure.collateral or failure.kind == "waiting"):
                plugin.failed(f"{hook.name} failed: {plugin.without_name(failure)}", runtime.clock(), runtime.id)
                reason = f"plugin {plugin.key}: {hook.name} failed: {plugin.without_name(failure)}"
                raise PlanHookBlockedError(reason) from failure
            pause = failure.retry_after or pause
        else:
            if not hooks.overtaken(runtime.stores_by_scope, plugin.key, runtime.text.read(), call, outcome):
                plugin.worked()
                _commit(runtime, hook, plugin, call, outcome, duration_ms=round((time.monotonic() - started) * 1000))
                if outcome.block is not None:
                    raise PlanHookBlockedError(f"plugin {plugin.key}: {outcome.block}")
                return
        await asyncio.sleep(pause.total_seconds())
    raise PlanHookBlockedError(f"plugin {plugin.key}: {hook.name} was overtaken by other changes of the plan each time")


def _commit(
    runtime: PlanRuntime,
    hook: PlanHook,
    plugin: RunningPlugin,
    call: HookCall,
    outcome: Outcome,
    *,
    duration_ms: int,
) -> None:
    settled = hook_results.settle(
        call,
        outcome,
        runtime.event_store.state.open,
        plugin=plugin.key,
        now=runtime.clock(),
        policy=runtime.rules.backoff,
        plan_target=reply_target(runtime.plan),
    )
    runtime.event_store.commit(
        hook.name,
        plugin.key,
        changes=settled.changes,
        actions=settled.actions,
        writes=hooks.store_writes(runtime.stores_by_scope, plugin.key, outcome),
        plan=hooks.changed_plan(call, outcome),
        work=hook.record(plugin.key),
        duration_ms=duration_ms,
    )
