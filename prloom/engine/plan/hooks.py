"""Run a plugin's hook on a plan's events, and commit what it did as a whole, or nothing of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

from prloom import errors
from prloom.api.context import Services
from prloom.core import breaker, verdicts
from prloom.core.backoff import SHORTEST
from prloom.core.dispatch import Show
from prloom.core.verdicts import OnError
from prloom.engine.bus.ledger import TooLongError
from prloom.engine.bus.plan_text import fingerprint
from prloom.engine.plan.desk import Desk
from prloom.engine.plan.plugins import Plugin
from prloom.extensions.hosting import HookFailed
from prloom.model import record
from prloom.model.decision import PlanText, StateWrite
from prloom.model.event import Event
from prloom.model.hook import HookCall, Outcome

log = logging.getLogger(__name__)

_OFTEN = 3
"""Runs that may be overtaken by other writers, or fall with another call, before one runs with the gate closed."""

_SOON = timedelta(seconds=5)
"""A plugin's process that is started again within this time is waited for."""


async def show(desk: Desk, step: Show, plugin: Plugin, services: Services) -> None:
    """Show events to a plugin's hook, and commit the outcome, its failure or its wait."""
    if plugin.breaker.off_until is None:
        await _attempt(desk, step, plugin, services)
        return
    async with plugin.trial:  # when its time is over, one call finds out for all whether it works again
        off_until, now = plugin.breaker.off_until, desk.clock()
        waiting = [event for event in step.event_ids if breaker.off(plugin.breaker, now, _named(desk, event))]
        if waiting and off_until is not None:
            reason = f"{plugin.key} is switched off: {plugin.breaker.reason}"
            # The others, if there are any, are shown again without these.
            _fail(desk, replace(step, event_ids=tuple(waiting)), plugin, reason, retry_after=off_until - now)
        else:
            await _attempt(desk, step, plugin, services)


def _named(desk: Desk, event_id: str) -> str:
    """Return the name of an event among those of all plans."""
    return f"{desk.id}/{event_id}"


async def _attempt(desk: Desk, step: Show, plugin: Plugin, services: Services) -> None:
    started = time.monotonic()
    try:
        await _run(desk, step, plugin, services, started=started)
    except HookFailed as failure:
        if failure.kind == "waiting":  # nobody was asked, so nobody has failed
            _fail(desk, step, plugin, plugin.unnamed(failure), retry_after=failure.retry_after or SHORTEST)
            return
        suspected = desk.suspects.issuperset(step.event_ids)
        if len(step.event_ids) > 1 or (failure.kind == "died" and not suspected):
            log.warning("plugin %s: %s; prloom now shows it the events one by one", plugin.key, plugin.unnamed(failure))
            _suspect(desk, step, deadly=failure.kind == "died")
            return
        what = f"{step.hook} failed on {', '.join(step.event_ids)}: {plugin.unnamed(failure)}"
        plugin.failed(what, desk.clock(), _named(desk, step.event_ids[0]))
        _fail(desk, step, plugin, plugin.unnamed(failure), duration_ms=_ms(started))
    else:
        plugin.worked()


def _suspect(desk: Desk, step: Show, *, deadly: bool) -> None:
    """Have each event shown once more, alone: in company, the guilty one is not known.

    Of a process that died not even the call is known: what may have been its end is shown while no other call runs.
    """
    there = set(step.event_ids) & desk.ledger.state.open.keys()
    desk.alone |= there
    desk.suspects |= there if deadly else set()


async def _run(desk: Desk, step: Show, plugin: Plugin, services: Services, *, started: float) -> None:
    """Run the hook until its outcome stands: again where another writer was faster, or where it fell with another."""
    again = 0
    while True:
        closed = again >= _OFTEN or desk.suspects.issuperset(step.event_ids)
        async with _passage(plugin, closed=closed):
            events = _texts(desk, step)
            if not events:  # superseded or dropped meanwhile
                return
            call = _call(desk, step, plugin, events)
            pause = timedelta(0)
            try:
                outcome = await _outcome(plugin, call, services, desk.rules.hook_timeout)
            except HookFailed as failure:
                pause = _pause(failure, others=plugin.inside if closed else 0, again=again)
                log.info("plugin %s: %s runs again: %s", plugin.key, step.hook, plugin.unnamed(failure))
            else:
                if not _overtaken(desk, plugin, call, outcome):
                    _commit(desk, plugin, call, outcome, duration_ms=_ms(started))
                    return
        again += 1
        await asyncio.sleep(pause.total_seconds())


def _pause(failure: HookFailed, *, others: int, again: int) -> timedelta:
    """Return when the hook is to be run again because the failure is none of its own; raises it where it may be.

    `others` are the calls beside it of which one may be what the process died of, if it ran with the gate closed.
    """
    soon = failure.retry_after is not None and failure.retry_after <= _SOON
    if failure.kind == "waiting" and soon and again < 2 * _OFTEN:
        return failure.retry_after or SHORTEST
    fell_with_another = failure.kind == "died" and others > 0 and again < _OFTEN
    if failure.collateral or fell_with_another:
        return timedelta(0)
    raise failure


async def _outcome(plugin: Plugin, call: HookCall, services: Services, limit: timedelta) -> Outcome:
    """Run the hook; whatever goes wrong with it is this plugin's failure, and the plan goes on."""
    try:
        outcome = await plugin.host.run(call, services, limit=limit)
    except HookFailed:
        raise
    except Exception as error:
        if errors.explain(error) is None:
            log.exception("plugin %s: %s could not be run", plugin.key, call.hook)
        raise HookFailed(f"plugin {plugin.key}: {call.hook}: {errors.describe(error)}") from error
    problem = verdicts.too_many(call, outcome)
    if problem is not None:  # such as many events, each within what its own context allows
        raise HookFailed(f"plugin {plugin.key}: {problem}")
    return outcome


@contextlib.asynccontextmanager
async def _passage(plugin: Plugin, *, closed: bool) -> AsyncIterator[None]:
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


def _texts(desk: Desk, step: Show) -> tuple[Event, ...]:
    """Return the texts of the step's events that still wait for this."""
    opened = [desk.ledger.state.open.get(event_id) for event_id in step.event_ids]
    texts = [desk.ledger.texts.of(event) for event in opened if event is not None and event.state == "pending"]
    return tuple(text for text in texts if text is not None)


def _call(desk: Desk, step: Show, plugin: Plugin, events: tuple[Event, ...]) -> HookCall:
    """Return the value that the hook is called with."""
    state = desk.ledger.state.open
    waits = {event.id: state[event.id].deferral for event in events if event.id in state}
    return HookCall(
        hook=step.hook,
        plan_id=desk.id,
        repo_root=str(desk.repo_root),
        worktree=str(desk.worktree),
        now=record.iso(desk.clock()),
        plan=desk.text.read(),
        events=events,
        deferrals={event_id: wait for event_id, wait in waits.items() if wait is not None},
        vouched=tuple(event_id for event_id in waits if state[event_id].vouched),
        state=desk.stores.get(plugin.key).values,
        global_state=desk.shared.get(plugin.key).values,
        change_request_ref=desk.change_request_ref,
        head=desk.head,
    )


def _overtaken(desk: Desk, plugin: Plugin, call: HookCall, outcome: Outcome) -> bool:
    """Whether what the hook has read was written by somebody else meanwhile, so that committing would lose that."""
    now = {"plan": desk.stores.get(plugin.key).values, "global": desk.shared.get(plugin.key).values}
    if verdicts.conflicts(outcome.writes, call, now):
        return True
    return outcome.plan is not None and desk.text.read() != call.plan


def _commit(desk: Desk, plugin: Plugin, call: HookCall, outcome: Outcome, *, duration_ms: int) -> None:
    """Let the outcome take effect as a whole; one that cannot be written down is the hook's failure."""
    try:
        settled = verdicts.settle(
            call,
            outcome,
            desk.ledger.state.open,
            plugin=plugin.key,
            now=desk.clock(),
            policy=desk.rules.backoff,
            plan_target=desk.plan_target,
        )
        plan = None if outcome.plan is None else PlanText(base=fingerprint(call.plan), text=outcome.plan)
        desk.ledger.commit(
            call.hook,
            plugin.key,
            changes=settled.changes,
            actions=settled.actions,
            writes=_writes(desk, plugin, outcome),
            plan=plan,
            duration_ms=duration_ms,
        )
    except (TooLongError, TypeError, ValueError) as error:
        raise HookFailed(f"plugin {plugin.key}: the result of {call.hook} cannot be saved: {error}") from error
    desk.clear({event.id for event in call.events})


def _writes(desk: Desk, plugin: Plugin, outcome: Outcome) -> tuple[StateWrite, ...]:
    stores = {"plan": desk.stores, "global": desk.shared}
    return tuple(
        StateWrite(
            plugin=plugin.key,
            scope=write.scope,
            version=stores[write.scope].next_version(plugin.key),
            values=write.values,
            deleted=write.deleted,
        )
        for write in outcome.writes
        if write.values or write.deleted
    )


def _fail(
    desk: Desk,
    step: Show,
    plugin: Plugin,
    reason: str,
    *,
    duration_ms: int | None = None,
    retry_after: timedelta | None = None,
) -> None:
    """Commit a hook's failure for all events of the step."""
    changes = verdicts.settle_failure(
        step.event_ids,
        desk.ledger.state.open,
        reason,
        hook=step.hook,
        plugin=plugin.key,
        now=desk.clock(),
        policy=desk.rules.backoff,
        on_error=_on_error(desk, plugin),
        retry_after=retry_after,
    )
    if changes:
        desk.ledger.commit(step.hook, plugin.key, changes=changes, duration_ms=duration_ms)
    desk.clear(set(step.event_ids))


def _on_error(desk: Desk, plugin: Plugin) -> OnError:
    """Return what becomes of events that the plugin fails on; a plan's preset may say it otherwise."""
    return desk.rules.config.plugins.settings_of(plugin.key).on_error if desk.plan.preset else plugin.on_error


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
