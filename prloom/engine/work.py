"""Work through one plan: take in, let waits end, hand out what is to be done, deliver; never wait for any of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from prloom.api.bridge import BridgeContext
from prloom.api.context import Services
from prloom.core import commands, deferral, dispatch, outbox
from prloom.core.commands import Command
from prloom.core.dispatch import Obey, Roster, Show, Step, Triage
from prloom.engine import delivery, hooks, intake, obey, todos
from prloom.engine.desk import Desk
from prloom.engine.plugins import Crew
from prloom.errors import PrloomError
from prloom.extensions.bridges import Bridges
from prloom.model.decision import Change
from prloom.model.state import OpenEvent, QueuedAction

log = logging.getLogger(__name__)

Job = Callable[[], Coroutine[Any, Any, None]]
"""Something that takes time; it begins when it is called."""

Spawn = Callable[[Desk, Job], None]
"""Runs a job beside everything else; when it is over, the plan is worked through again."""


@dataclass(frozen=True)
class Hands:
    """Who does what a plan asks for."""

    crew: Crew
    bridges: Bridges
    services: Callable[[Desk], Services]
    context: Callable[[], BridgeContext]
    triage: Callable[[Desk, Triage], Coroutine[Any, Any, None]] | None
    lookup: Callable[[Desk, OpenEvent], Coroutine[Any, Any, None]]
    spawn: Spawn


def advance(desk: Desk, roster: Roster, hands: Hands) -> bool:
    """Do all that can be done for the plan now; return whether anything was decided or begun."""
    if desk.plan.blocked or desk.resting(desk.clock()):
        return False
    try:
        desk.reopen()
        return _advance(desk, roster, hands)
    except PrloomError as error:
        log.warning("plan %s: %s", desk.id, error)
        desk.trouble(str(error))
        return False


def _advance(desk: Desk, roster: Roster, hands: Hands) -> bool:
    moved = False
    while intake.take_in(desk):
        moved = True
    moved |= _end_waits(desk)
    moved |= todos.resolve(desk)
    moved |= _look_up(desk, hands)
    moved |= _hand_out(desk, roster, hands)
    moved |= _deliver(desk, hands)
    desk.ledger.save()
    return moved


def _end_waits(desk: Desk) -> bool:
    changes = deferral.due(desk.ledger.state.open.values(), desk.clock())
    if changes:
        desk.ledger.commit("wait", "prloom", changes=changes)
    return bool(changes)


def _look_up(desk: Desk, hands: Hands) -> bool:
    """Ask for the permissions of authors that are not known, each beside everything else."""
    now = desk.clock()
    due = [event for event in desk.ledger.state.open.values() if deferral.lookup_due(event, now)]
    fresh = [event for event in due if event.id not in desk.busy]
    for event in fresh:
        desk.busy.add(event.id)
        hands.spawn(desk, _releasing(desk, (event.id,), partial(hands.lookup, desk, event)))
    return bool(fresh)


def _hand_out(desk: Desk, roster: Roster, hands: Hands) -> bool:
    pending = [(event, _command(desk, event)) for event in desk.ledger.state.open.values() if event.state == "pending"]
    steps = dispatch.steps(
        pending,
        roster,
        busy=desk.busy,
        alone=desk.alone,
        paused=desk.paused,
        triaging=desk.triaging,
    )
    begun = False
    for step in steps:
        begun |= _begin(desk, step, hands)
    return begun


def _command(desk: Desk, event: OpenEvent) -> Command | None:
    text = desk.ledger.event(event)
    return None if text is None else commands.parse(text)


def _begin(desk: Desk, step: Step, hands: Hands) -> bool:
    match step:
        case Obey(event_id=event_id):
            opened = desk.ledger.state.open[event_id]
            event = desk.ledger.event(opened)
            command = None if event is None else commands.parse(event)
            if event is not None and command is not None:
                obey.obey(desk, event, command, hands.crew.command_help())
        case Show(event_ids=ids):
            desk.busy |= set(ids)
            shown = partial(hooks.show, desk, step, hands.crew[step.plugin], hands.services(desk))
            hands.spawn(desk, _releasing(desk, ids, shown))
        case Triage(event_ids=ids):
            if hands.triage is None:
                _finish(desk, ids)
                return True
            desk.busy |= set(ids)
            hands.spawn(desk, _releasing(desk, ids, partial(hands.triage, desk, step)))
        case _:
            assert_never(step)
    return True


def _finish(desk: Desk, ids: tuple[str, ...]) -> None:
    """End events that concern the whole repository once every plugin has seen them: no agent looks at them."""
    changes = tuple(
        Change(event_id=event_id, verdict="handled", state="handled", reason="shown to every plugin")
        for event_id in ids
    )
    desk.ledger.commit("onGlobalEvent", "prloom", changes=changes)


def _releasing(desk: Desk, ids: tuple[str, ...], job: Job) -> Job:
    """Return the job, after which the events are in nobody's hands."""

    async def run() -> None:
        try:
            await job()
        finally:
            desk.busy -= set(ids)

    return run


def _deliver(desk: Desk, hands: Hands) -> bool:
    by_bridge: dict[str, list[QueuedAction]] = {}
    moved = False
    for action in outbox.ready(desk.ledger.state.queue.values(), desk.clock()):
        bridge = hands.bridges.claimant(action.target)
        if bridge is None:
            delivery.fail_unclaimed(desk, action)
            moved = True
        elif bridge.name not in desk.delivering:
            by_bridge.setdefault(bridge.name, []).append(action)
    for name, actions in by_bridge.items():
        desk.delivering.add(name)
        hands.spawn(desk, partial(_delivering, desk, name, actions, hands))
    return moved or bool(by_bridge)


async def _delivering(desk: Desk, name: str, actions: list[QueuedAction], hands: Hands) -> None:
    bridge = next(bridge for bridge in hands.bridges.loaded if bridge.name == name)
    try:
        await delivery.deliver(desk, bridge, actions, hands.context())
    finally:
        desk.delivering.discard(name)
