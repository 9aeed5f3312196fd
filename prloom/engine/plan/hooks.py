"""Run a plugin's hook on a plan's events, and commit what it did as a whole, or nothing of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from prloom import errors
from prloom.backoff import SHORTEST
from prloom.core.events import hook_results
from prloom.core.events.dispatch import RunHook
from prloom.core.waits import breaker, wake
from prloom.engine.bus.event_store import EventStore, TooLongError
from prloom.engine.bus.plan_files import text_digest
from prloom.engine.bus.plugin_stores import PluginStores
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import RunningPlugin
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.extensions.host.interface import HookFailed
from prloom.model import record
from prloom.model.decision import PlanText, StateWrite
from prloom.model.event import Event
from prloom.model.hook import HookCall, HookTodo, Outcome, PluginDeferral
from prloom.model.plan import Plan

log = logging.getLogger(__name__)

_RERUNS = 3
"""Runs that may be overtaken by other writers, or fail with another call, before one runs with the gate closed."""

_RESTART_TIME = timedelta(seconds=5)
"""A plugin's process that is started again within this time is waited for."""


async def run_hook(runtime: PlanRuntime, step: RunHook, plugin: RunningPlugin, services: PlanServices) -> None:
    """Run a plugin's hook on events, and commit the outcome, its failure or its wait."""
    if plugin.breaker.off_until is None:
        await _attempt(runtime, step, plugin, services)
        return
    async with plugin.trial:  # when its time is over, one call finds out for all whether it works again
        off_until, now = plugin.breaker.off_until, runtime.clock()
        waiting = [each for each in step.event_ids if breaker.off(plugin.breaker, now, f"{runtime.id}/{each}")]
        if waiting and off_until is not None:
            reason = f"{plugin.key} is switched off: {plugin.breaker.reason}"
            # The others, if there are any, are shown again without these.
            _fail(runtime, replace(step, event_ids=tuple(waiting)), plugin, reason, retry_after=off_until - now)
        else:
            await _attempt(runtime, step, plugin, services)


async def _attempt(runtime: PlanRuntime, step: RunHook, plugin: RunningPlugin, services: PlanServices) -> None:
    started = time.monotonic()
    try:
        await _run(runtime, step, plugin, services, started=started)
    except HookFailed as failure:
        if failure.kind == "waiting":  # the hook was not called, so it has not failed
            _fail(runtime, step, plugin, plugin.without_name(failure), retry_after=failure.retry_after or SHORTEST)
            return
        suspected = runtime.in_flight.suspects.issuperset(step.event_ids)
        if len(step.event_ids) > 1 or (failure.kind == "died" and not suspected):
            log.warning(
                "plugin %s: %s; prloom now shows it the events one by one", plugin.key, plugin.without_name(failure)
            )
            # With several at once, the one that it fails on is not known. Where the process died, not even the call is.
            opened = runtime.event_store.state.open.keys() & set(step.event_ids)
            runtime.in_flight.isolated |= opened
            if failure.kind == "died":
                runtime.in_flight.suspects |= opened
            return
        what = f"{step.hook} failed on {', '.join(step.event_ids)}: {plugin.without_name(failure)}"
        plugin.failed(what, runtime.clock(), f"{runtime.id}/{step.event_ids[0]}")
        _fail(runtime, step, plugin, plugin.without_name(failure), duration_ms=_ms(started))
    else:
        plugin.worked()


async def _run(
    runtime: PlanRuntime, step: RunHook, plugin: RunningPlugin, services: PlanServices, *, started: float
) -> None:
    """Run the hook until its outcome is committed: again if another writer was faster, or another call failed."""
    again = 0
    while True:
        closed = again >= _RERUNS or runtime.in_flight.suspects.issuperset(step.event_ids)
        async with _gate_passed(plugin, closed=closed):
            events = _still_pending(runtime.event_store, step.event_ids)
            if not events:  # superseded or dropped meanwhile
                return
            call, seq = new_call(runtime, step.hook, plugin.key, events), runtime.event_store.state.seq
            pause = timedelta(0)
            try:
                result = await outcome(plugin, call, services, runtime.rules.hook_timeout)
            except HookFailed as failure:
                pause = _pause(failure, others=plugin.inside if closed else 0, again=again)
                log.info("plugin %s: %s runs again: %s", plugin.key, step.hook, plugin.without_name(failure))
            else:
                if not overtaken(runtime.stores_by_scope, plugin.key, runtime.text.read(), call, result):
                    _commit(runtime, step, call, result, since=seq, duration_ms=_ms(started))
                    return
        again += 1
        await asyncio.sleep(pause.total_seconds())


def _pause(failure: HookFailed, *, others: int, again: int) -> timedelta:
    """Return when the hook is to be run again because the failure is none of its own; raises it where it may be.

    `others` are the calls beside it of which one may be what the process died of, if it ran with the gate closed.
    """
    soon = failure.retry_after is not None and failure.retry_after <= _RESTART_TIME
    if failure.kind == "waiting" and soon and again < 2 * _RERUNS:
        return failure.retry_after or SHORTEST
    failed_with_another = failure.kind == "died" and others > 0 and again < _RERUNS
    if failure.collateral or failed_with_another:
        return timedelta(0)
    raise failure


async def outcome(plugin: RunningPlugin, call: HookCall, services: PlanServices, limit: timedelta) -> Outcome:
    """Run the hook; whatever goes wrong with it is this plugin's failure, and the plan goes on."""
    try:
        result = await plugin.host.run(call, services.of_plugin(plugin.key), limit=limit)
    except HookFailed:
        raise
    except Exception as error:
        if errors.explain(error) is None:
            log.exception("plugin %s: %s could not be run", plugin.key, call.hook)
        raise HookFailed(f"plugin {plugin.key}: {call.hook}: {errors.describe(error)}") from error
    problem = hook_results.too_many_actions(call, result)
    if problem is not None:  # such as many events, each within what its own context allows
        raise HookFailed(f"plugin {plugin.key}: {problem}")
    return result


@contextlib.asynccontextmanager
async def _gate_passed(plugin: RunningPlugin, *, closed: bool) -> AsyncIterator[None]:
    """Pass the plugin's gate; where `closed`, keep it shut behind us, so that no other call begins meanwhile."""
    async with plugin.gate:
        if closed:
            yield
            return
    plugin.inside += 1
    try:
        yield
    finally:
        plugin.inside -= 1


def _still_pending(store: EventStore, event_ids: Iterable[str]) -> tuple[Event, ...]:
    """Return those of the events that still wait for a hook."""
    opened = [store.state.open.get(event_id) for event_id in event_ids]
    events = [store.texts.get(event) for event in opened if event is not None and event.state == "pending"]
    return tuple(event for event in events if event is not None)


def new_call(
    runtime: PlanRuntime,
    hook: str,
    plugin: str,
    events: tuple[Event, ...] = (),
    *,
    todo: HookTodo | None = None,
    diff: str | None = None,
    summary: str | None = None,
) -> HookCall:
    """Return the value that a hook is called with."""
    state = runtime.event_store.state.open
    waits = {event.id: state[event.id].deferral for event in events if event.id in state}
    return HookCall(
        hook=hook,
        plan_id=runtime.id,
        repo_root=str(runtime.folders.repo_root),
        worktree=str(runtime.folders.worktree),
        now=record.iso(runtime.clock()),
        plan=runtime.text.read(),
        events=events,
        deferrals={event_id: PluginDeferral.of(wait) for event_id, wait in waits.items() if wait is not None},
        vouched=tuple(event_id for event_id in waits if state[event_id].vouched),
        state=runtime.stores.get(plugin).values,
        global_state=runtime.shared_stores.get(plugin).values,
        change_request_ref=_change_request(runtime.plan),
        head=runtime.head,
        todo=todo,
        diff=diff,
        summary=summary,
    )


def _change_request(plan: Plan) -> str | None:
    """Return the pull request as its forge names it."""
    if plan.url or plan.pr is None:
        return plan.url
    return f"#{plan.pr}"


def overtaken(
    stores: Mapping[str, PluginStores], plugin: str, plan_text: str, call: HookCall, outcome: Outcome
) -> bool:
    """Whether another writer changed meanwhile what the hook has read, so that committing would lose that change."""
    now = {scope: store.get(plugin).values for scope, store in stores.items()}
    if hook_results.has_conflict(outcome.writes, call, now):
        return True
    return outcome.plan is not None and plan_text != call.plan


def _commit(
    runtime: PlanRuntime, step: RunHook, call: HookCall, outcome: Outcome, *, since: int, duration_ms: int
) -> None:
    """Let the outcome take effect as a whole; one that cannot be written down is the hook's failure.

    What arrived `since` the decision that the call was made after ends the waits for it at once.
    """
    try:
        settled = hook_results.settle(
            call,
            outcome,
            runtime.event_store.state.open,
            plugin=step.plugin,
            now=runtime.clock(),
            policy=runtime.rules.backoff,
            plan_target=reply_target(runtime.plan),
            open_todos=wake.open_todos(runtime.text.todos()),
        )
        arrived = [each for seq, each in runtime.event_store.arrivals if seq > since]
        runtime.event_store.commit(
            step.hook,
            step.plugin,
            changes=(*settled.changes, *wake.missed(settled.changes, arrived)),
            actions=settled.actions,
            writes=store_writes(runtime.stores_by_scope, step.plugin, outcome),
            plan=changed_plan(call, outcome),
            duration_ms=duration_ms,
        )
    except (TooLongError, TypeError, ValueError) as error:
        raise HookFailed(f"plugin {step.plugin}: the result of {step.hook} cannot be saved: {error}") from error
    runtime.in_flight.clear({event.id for event in call.events}, runtime.event_store.state.open.keys())


def changed_plan(call: HookCall, outcome: Outcome) -> PlanText | None:
    """Return the plan's text that a hook returned, if it did."""
    if outcome.plan is None:
        return None
    return PlanText(base=text_digest(call.plan), text=outcome.plan)


def store_writes(stores: Mapping[str, PluginStores], plugin: str, outcome: Outcome) -> tuple[StateWrite, ...]:
    """Return what a hook wrote to its plugin's stores."""
    return tuple(
        StateWrite(
            plugin=plugin,
            scope=write.scope,
            version=stores[write.scope].next_version(plugin),
            values=write.values,
            deleted=write.deleted,
        )
        for write in outcome.writes
        if write.values or write.deleted
    )


def _fail(
    runtime: PlanRuntime,
    step: RunHook,
    plugin: RunningPlugin,
    reason: str,
    *,
    duration_ms: int | None = None,
    retry_after: timedelta | None = None,
) -> None:
    """Commit a hook's failure for all events of the step."""
    on_error = plugin.on_error
    if runtime.plan.preset:  # which may say it otherwise
        on_error = runtime.rules.config.plugins.settings_of(plugin.key).on_error
    changes = hook_results.settle_failure(
        step.event_ids,
        runtime.event_store.state.open,
        reason,
        hook=step.hook,
        plugin=plugin.key,
        now=runtime.clock(),
        policy=runtime.rules.backoff,
        on_error=on_error,
        retry_after=retry_after,
    )
    if changes:
        runtime.event_store.commit(step.hook, plugin.key, changes=changes, duration_ms=duration_ms)
    runtime.in_flight.clear(set(step.event_ids), runtime.event_store.state.open.keys())


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
