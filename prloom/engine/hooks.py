"""Run a plugin's hook on a plan's events, and commit what it did as a whole, or nothing of it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator
from datetime import timedelta

from prloom.api.context import Services
from prloom.core import breaker, verdicts
from prloom.core.dispatch import Show
from prloom.engine.desk import Desk
from prloom.engine.plan_text import fingerprint
from prloom.engine.plugins import Plugin
from prloom.extensions.hosting import HookFailed
from prloom.model import record
from prloom.model.decision import PlanText, StateWrite
from prloom.model.event import Event
from prloom.model.hook import HookCall, Outcome

log = logging.getLogger(__name__)

_OVERTAKEN = 3
"""Runs that may be overtaken by other writers before one runs with the gate closed."""


async def show(desk: Desk, step: Show, plugin: Plugin, services: Services) -> None:
    """Show events to a plugin's hook, and commit the outcome, its failure or its wait."""
    events = _texts(desk, step)
    if not events:
        return
    off_until = plugin.breaker.off_until
    if off_until is not None and breaker.off(plugin.breaker, desk.clock()):
        reason = f"{plugin.key} is switched off: {plugin.breaker.reason}"
        _fail(desk, step, plugin, reason, retry_after=off_until - desk.clock())
        return
    started = time.monotonic()
    try:
        await _run(desk, step, plugin, services, events=events, started=started)
    except HookFailed as failure:
        plugin.failed(f"{step.hook} failed on {', '.join(step.event_ids)}: {failure}", desk.clock())
        if len(step.event_ids) > 1:  # in company the guilty one is not known: each is shown once more, alone
            desk.alone |= set(step.event_ids)
        else:
            _fail(desk, step, plugin, str(failure), duration_ms=_ms(started))
    else:
        plugin.worked()


async def _run(
    desk: Desk, step: Show, plugin: Plugin, services: Services, *, events: tuple[Event, ...], started: float
) -> None:
    """Run the hook until its outcome stands: again where another writer was faster, or where it fell with another."""
    overtaken = 0
    while True:
        async with _passage(plugin, closed=overtaken >= _OVERTAKEN):
            call = _call(desk, step, plugin, events)
            try:
                outcome = await plugin.host.run(call, services, limit=desk.rules.hook_timeout)
            except HookFailed as failure:
                if not failure.collateral:
                    raise
                log.info("plugin %s: %s runs again: %s", plugin.key, step.hook, failure)
                continue
            if not _overtaken(desk, plugin, call, outcome):
                _commit(desk, plugin, call, outcome, duration_ms=_ms(started))
                return
        overtaken += 1


@contextlib.asynccontextmanager
async def _passage(plugin: Plugin, *, closed: bool) -> AsyncIterator[None]:
    """Pass the plugin's gate; keep it closed behind us where we were overtaken too often."""
    async with plugin.gate:
        if closed:
            yield
            return
    yield


def _texts(desk: Desk, step: Show) -> tuple[Event, ...]:
    """Return the step's events with their texts; one whose text is not what was admitted needs a person."""
    events = []
    for event_id in step.event_ids:
        opened = desk.ledger.state.open.get(event_id)
        event = desk.ledger.event(opened) if opened else None
        if event is not None:
            events.append(event)
        elif opened is not None:
            change = verdicts.park(event_id, "its text in events.jsonl is not the one that came in")
            desk.ledger.commit("intake", "prloom", changes=(change,))
    return tuple(events)


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
    )


def _overtaken(desk: Desk, plugin: Plugin, call: HookCall, outcome: Outcome) -> bool:
    """Whether what the hook has read was written by somebody else meanwhile, so that committing would lose that."""
    now = {"plan": desk.stores.get(plugin.key).values, "global": desk.shared.get(plugin.key).values}
    if verdicts.conflicts(outcome.writes, call, now):
        return True
    return outcome.plan is not None and desk.text.read() != call.plan


def _commit(desk: Desk, plugin: Plugin, call: HookCall, outcome: Outcome, *, duration_ms: int) -> None:
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
    desk.alone -= {event.id for event in call.events}


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
        on_error=plugin.on_error,
        retry_after=retry_after,
    )
    desk.ledger.commit(step.hook, plugin.key, changes=changes, duration_ms=duration_ms)
    desk.alone -= set(step.event_ids)


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
