"""Work through one plan: take in, let waits end, hand out what is to be done, deliver; never wait for any of it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from prloom.core import deferral, dispatch, outbox
from prloom.core.dispatch import Roster
from prloom.engine import failures
from prloom.engine.plan import delivery, handout, intake, todos
from prloom.engine.plan.desk import Desk
from prloom.engine.plan.hands import Hands
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.state import OpenEvent, QueuedAction

log = logging.getLogger(__name__)

SAVED_AFTER = 50
"""Decisions after which the projection is saved also where work goes on: so many are read again after a crash."""

LOOKUPS = 16
"""Look-ups of permissions that one plan has under way: each ends in a decision of its own."""


def advance(desk: Desk, roster: Roster, hands: Hands) -> bool:
    """Do what can be done for the plan now; return whether to ask again, for there may be more by that."""
    if desk.plan.blocked or desk.resting(desk.clock()):
        return False
    try:
        desk.reopen()
        moved = _advance(desk, roster, hands)
    except PrloomError as error:
        log.warning("plan %s: %s", desk.id, error)
        desk.trouble(str(error))
        return False
    except Exception as error:  # noqa: BLE001 - `failures.tell` logs it
        desk.trouble(failures.tell(log, error, f"plan {desk.id} is tried again later"))
        return False
    desk.well()
    return moved


def _advance(desk: Desk, roster: Roster, hands: Hands) -> bool:
    now = hands.horizon or desk.clock()
    moved = intake.take_in(desk, hands.bridges.acknowledgement, partial(_unseen, desk, roster, hands))
    if moved and desk.ledger.unsaved < SAVED_AFTER:
        # What more there is comes before anything is handed out, for a burst of comments is one run; but a burst so
        # long that its decisions are saved on the way is handed out on the way, too.
        return True
    crowded = intake.full(desk)
    moved |= _end_waits(desk, now)
    moved |= todos.resolve(desk)
    moved |= _recover(desk, hands)
    moved |= _look_up(desk, hands, now)
    moved |= handout.hand_out(desk, roster, hands)
    moved |= _deliver(desk, hands, now)
    if not (moved or crowded) or desk.ledger.unsaved >= SAVED_AFTER:  # else there is more to come at once
        desk.ledger.save()
    return moved


def _unseen(desk: Desk, roster: Roster, hands: Hands, event: Event) -> bool:
    return not desk.paused and dispatch.unseen(event, roster, agents=hands.agents)


def next_time(desk: Desk, since: datetime) -> datetime | None:
    """Return when something of the plan is due first after a time, if it is to be worked on at all."""
    if desk.plan.blocked:
        return None
    state = desk.ledger.state
    waits = [event.deferral for event in state.open.values() if event.deferral is not None]
    times = {min(wait.deferred_until, wait.deadline) for wait in waits}
    times |= {action.next_try for action in state.queue.values() if action.next_try and not action.failed}
    times |= {record.iso(desk.rest_until)} if desk.rest_until else set()
    # Times on disk are all of one form, so that they sort as texts.
    ahead = min((time for time in times if time > record.iso(since)), default=None)
    return None if ahead is None else record.moment(ahead)


# ---- waits and runs that are over


def _end_waits(desk: Desk, now: datetime) -> bool:
    changes = deferral.due(desk.ledger.state.open.values(), now, clock=desk.clock())
    if changes:
        desk.ledger.commit("wait", "prloom", changes=changes)
    return bool(changes)


def _recover(desk: Desk, hands: Hands) -> bool:
    """Find out what became of the runs that are in nobody's hands: those of an earlier dispatcher, as a rule."""
    found = False
    if not desk.swept:
        desk.swept = True
        hands.triager.sweep(desk)
    for run, ids in _runs(desk.ledger.state.open.values()).items():
        if desk.busy.isdisjoint(ids):
            hands.begin(desk, ids, partial(_recovering, desk, run, ids, hands))
            found = True
    return found


async def _recovering(desk: Desk, run: str, ids: tuple[str, ...], hands: Hands) -> None:
    await hands.triager.recover(desk, run, ids)
    if run in _runs(desk.ledger.state.open.values()):  # or it would be recovered again at once, and for ever
        raise PrloomError(
            f"the result of run {run} cannot be processed; check its folder, then `prloom drop` its events, or wait"
        )


def _runs(opened: Iterable[OpenEvent]) -> dict[str, tuple[str, ...]]:
    """Return the agent runs that open events are in, with their events."""
    runs: dict[str, tuple[str, ...]] = {}
    for event in opened:
        if event.run is not None:
            runs[event.run] = (*runs.get(event.run, ()), event.id)
    return runs


def _look_up(desk: Desk, hands: Hands, now: datetime) -> bool:
    """Ask for the permissions of authors that are not known, each beside everything else."""
    waits = [event for event in desk.ledger.state.open.values() if event.deferral is not None]
    held = [event for event in waits if event.state == "held" and event.id not in desk.busy]
    clock = desk.clock()
    due = [event for event in held if deferral.lookup_due(event, now, clock=clock) or _never_looked_up(event, clock)]
    running = sum(event.state == "held" and event.id in desk.busy for event in waits)
    begun = due[: max(LOOKUPS - running, 0)]
    for event in begun:
        hands.begin(desk, (event.id,), partial(hands.lookup, desk, event.id))
    return bool(begun)


def _never_looked_up(event: OpenEvent, now: datetime) -> bool:
    return event.deferral is not None and event.deferral.attempts <= 1 and deferral.lookup_due(event, now)


# ---- what goes out


def _deliver(desk: Desk, hands: Hands, now: datetime) -> bool:
    by_bridge: dict[tuple[str, bool], list[QueuedAction]] = {}
    unclaimed: list[QueuedAction] = []
    for action in outbox.ready(desk.ledger.state.queue.values(), now, clock=desk.clock()):
        bridge = hands.bridges.claimant(action.target)
        if bridge is None:
            unclaimed.append(action)
        elif (bridge.name, action.courtesy) not in desk.delivering:
            by_bridge.setdefault((bridge.name, action.courtesy), []).append(action)
    for name, courtesy in sorted(by_bridge, key=lambda key: key[1]):
        desk.delivering.add((name, courtesy))
        ids = [action.id for action in by_bridge[name, courtesy]]
        hands.spawn(desk, partial(_delivering, desk, name, ids, hands, courtesy=courtesy))
    if unclaimed:
        delivery.fail_unclaimed(desk, unclaimed[: delivery.BATCH])
    return bool(unclaimed or by_bridge)


TOO_MANY = "too many acknowledgements at once"


async def _delivering(desk: Desk, name: str, action_ids: list[str], hands: Hands, *, courtesy: bool) -> None:
    bridge = next(bridge for bridge in hands.bridges.loaded if bridge.name == name)
    turn = hands.turns.last if courtesy else hands.turns.first
    try:
        batches = deque(delivery.batches(bridge, action_ids))
        while batches:
            batch = batches.popleft()
            async with turn(name):
                if courtesy and not hands.turns.count(name, desk.clock()):
                    delivery.drop(desk, name, batch, TOO_MANY)
                    continue
                alone = await delivery.deliver(desk, bridge, batch, hands.context(name), await hands.secrets(name))
                batches.extendleft([action_id] for action_id in reversed(alone))
                await asyncio.sleep(0)  # a bridge that never waits, such as one to a file, would hold up all else
    finally:
        desk.delivering.discard((name, courtesy))
