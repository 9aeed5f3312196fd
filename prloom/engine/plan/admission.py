"""Admit the events that were appended to a plan's bus: drop seen ids and own posts, hold those of strangers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from prloom.core import trust
from prloom.core.delivery import outbox
from prloom.core.events import acknowledgements, admission, dispatch
from prloom.core.events.acknowledgements import Sign
from prloom.core.events.admission import OwnPosts
from prloom.core.events.dispatch import Subscribers
from prloom.core.trust import Held, Trusted, Unknown
from prloom.core.waits import deferral
from prloom.engine.bus import entries, receipts, replay
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.seen_ids import SeenIds
from prloom.engine.plan import torn_line
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.action import Action
from prloom.model.decision import Change, Intake
from prloom.model.event import Event
from prloom.model.record import Cursor, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.storage.reader import JournalBatch

log = logging.getLogger(__name__)

LINES = 1000
"""Lines that are taken in by one decision."""
MOST = 2000
"""Pending events from which on no more are taken in, until some of these have ended; the journal keeps the others."""
UNOBSERVED = "no plugin handles it, and no agent sees it"
REPLACED = "events.jsonl was cut or replaced; prloom reads it again from its beginning"

LATE = "a program kept events.jsonl open while it was rotated twice; prloom takes in the lines that it appended then"

TakenIn = Callable[[Event, Position], bool]
"""Whether the event of a line was taken in before."""

_Found: TypeAlias = tuple[tuple[Change, ...], tuple[Action, ...], tuple[Event, ...]]


@dataclass(frozen=True)
class Observers:
    """The plugins and agents that get events; an event that none of them gets ends as it is admitted."""

    subscribers: Subscribers
    agents: bool

    def miss(self, event: Event, *, paused: bool) -> bool:
        """Whether none of them gets the event."""
        return not paused and dispatch.has_no_receiver(event, self.subscribers, agents=self.agents)


def take_in(runtime: PlanRuntime, sign: Sign, observers: Observers | None = None) -> bool:
    """Take in the next lines of the plan's `events.jsonl`, by one decision; return whether there were any."""
    state = runtime.event_store.state
    if runtime.read_to is not None and state.cursor[:2] >= runtime.read_to[:2]:
        return False
    if full(state):
        return False
    batch = runtime.event_store.events.read(state.cursor, limit_lines=LINES)
    torn_line.heal(runtime, batch)
    rereading = state.rereading
    replaced = batch.gap or not runtime.event_store.events.is_unchanged(state.cursor, state.fingerprint)
    if replaced:
        rereading = runtime.event_store.events.end()
        log.warning("plan %s: %s", runtime.id, REPLACED)
        start = rereading._replace(offset=0)
        runtime.load_seen_ids(start, rereading)  # the log knows what was taken in before
        batch = runtime.event_store.events.read(start, limit_lines=LINES)
    elif batch.cursor == state.cursor:
        return _take_in_late(runtime, sign, observers)
    if batch.skipped:
        log.warning("plan %s: %d lines of events.jsonl are too long to be events", runtime.id, batch.skipped)
    _commit(
        runtime.event_store,
        _changes(runtime, batch, sign, observers),
        cursor=batch.cursor,
        fingerprint=state.fingerprint if batch.fingerprint is None else batch.fingerprint,
        rereading=rereading if rereading is not None and batch.cursor[:2] < rereading[:2] else None,
        note=REPLACED if replaced else None,
    )
    runtime.seen_ids.advance(batch.cursor)
    if batch.left:
        runtime.event_store.ends.record(batch.left)
    return True


def _take_in_late(runtime: PlanRuntime, sign: Sign, observers: Observers | None) -> bool:
    """Take in lines of a program that kept `events.jsonl` open while it was rotated twice."""
    late = runtime.event_store.ends.late(runtime.event_store.state.cursor)
    if late is None:
        return False
    # Their ids may be in the table of that segment, which is made of the whole file. So they are looked up in the log.
    taken = dict(replay.taken_in(runtime.event_store.events.folder))

    def came_before(event: Event, position: Position) -> bool:
        place = runtime.seen_ids.position(event.id)
        return event.id in taken or (place is not None and place != position)

    log.warning("plan %s: %s", runtime.id, LATE)
    batch = JournalBatch(late.entries, runtime.event_store.state.cursor)
    _commit(runtime.event_store, _changes(runtime, batch, sign, observers, came_before), note=LATE)
    runtime.event_store.ends.record([(late.segment, late.end)])
    return True


def _commit(
    store: EventStore,
    found: _Found,
    *,
    cursor: Cursor | None = None,
    fingerprint: int | None = None,
    rereading: Cursor | None = None,
    note: str | None = None,
) -> None:
    """Commit what was found in lines of the bus, and how far it was read."""
    changes, signs, noticed = found
    queue = store.state.queue.values()
    status = None
    if noticed and store.plan_id:
        status = admission.plan_status(noticed)
    store.commit(
        "intake",
        "prloom",
        changes=changes,
        actions=signs,
        courtesies=tuple(action.id for action in signs),
        deliveries=tuple(end for event in noticed for end in outbox.withdraw_replies(event, queue)),
        plan_status=status,
        cursor=cursor,
        fingerprint=fingerprint,
        rereading=rereading,
        note=note,
    )


def full(state: DispatchState) -> bool:
    """Whether as many events wait as memory is meant for.

    Those in an agent's run do not count, and while the plan is paused everything is taken in, for a command may come.
    """
    if len(state.open) < MOST or state.paused:
        return False
    return sum(event.state == "pending" and event.run is None for event in state.open.values()) >= MOST


def _changes(
    runtime: PlanRuntime, batch: JournalBatch, sign: Sign, observers: Observers | None, taken_in: TakenIn | None = None
) -> _Found:
    """Return what becomes of each event of a batch, the acknowledgements, and the notices; remember the events' ids."""
    store = runtime.event_store
    begun, now = runtime.plan.created_at, runtime.clock()
    recent = acknowledgements.recent(begun=begun, now=now)
    recent_at = {runtime.plan.forge: acknowledgements.recent(begun=begun, now=now, ahead=runtime.forge_ahead)}
    changes: list[Change] = []
    signs: dict[str, Action] = {}
    noticed: list[Event] = []
    coming: dict[str, Intake] = {}
    for event, came_in in _new_events(runtime, batch, taken_in):
        answer = runtime.issued.answer(event)
        if answer is not None:  # prloom answered it before this plan's files began
            changes.append(_handled(event, answer, came_in))
            continue
        since = recent_at.get(event.source, recent)
        acknowledgement = acknowledgements.for_new(
            event, came_in.written_at, sign, since, store.state.open, coming=coming, known=runtime.seen_ids
        )
        for older in admission.superseded(event, store.state.open, coming):
            changes.append(older)
            signs.pop(older.event_id, None)
        change = _admit(event, came_in, acknowledgement, runtime.rules, now)
        if change.state == "pending" and acknowledgement is not None:
            signs[event.id] = acknowledgement
        if came_in.notice:
            noticed.append(event)
        if change.state == "pending" and observers is not None and observers.miss(event, paused=store.state.paused):
            change = _unobserved(runtime.id, event, came_in)
        if change.state != "handled":
            store.texts.add(event)
            coming[event.id] = came_in
        changes.append(change)
    few = acknowledgements.limit_waiting(list(signs.values()), store.state.queue.values())
    return tuple(changes), few, tuple(noticed)


def _new_events(runtime: PlanRuntime, batch: JournalBatch, taken_in: TakenIn | None) -> Iterator[tuple[Event, Intake]]:
    """Yield the events of a batch that are new and not prloom's own posts; remember the id of every event."""
    posts = own_posts(runtime)
    for entry in batch.entries:
        event = entries.event(entry.line)
        if event is None:
            log.warning("plan %s: a line of events.jsonl cannot be read; `prloom doctor` names it", runtime.id)
            continue
        if _is_known(runtime.seen_ids, taken_in, event, entry.position):  # also where it came in just now
            runtime.seen_ids.add_again(event.id, entry.position)
            continue
        runtime.seen_ids.add(event.id, entry.position)
        if not admission.is_own_post(event, posts):
            yield event, admission.intake(event, entry.position)


def _is_known(seen_ids: SeenIds, taken_in: TakenIn | None, event: Event, position: Position) -> bool:
    if taken_in is None:
        return event.id in seen_ids
    return taken_in(event, position)


def _unobserved(plan_id: str, event: Event, came_in: Intake) -> Change:
    """Return the end of an event that nobody gets; one that is for a plan which is not there waits for a person."""
    reason = None
    if not plan_id:
        reason = admission.misdirected(event)
    if reason is None:
        return _handled(event, UNOBSERVED, came_in)
    log.warning("event %s is parked: %s", event.id, reason)
    return Change(event_id=event.id, verdict="parked", state="parked", reason=reason, intake=came_in)


def _handled(event: Event, reason: str, came_in: Intake) -> Change:
    """Return the first and last change of an event that ends as it comes in."""
    return Change(event_id=event.id, verdict="handled", state="handled", reason=reason, intake=came_in)


def own_posts(runtime: PlanRuntime) -> OwnPosts:
    """Return what the plan knows of prloom's own posts."""
    delivered = receipts.all_of(runtime.folders.local, runtime.clock())
    remote = frozenset(receipt.remote_id for receipt in delivered.values() if receipt.remote_id)
    return OwnPosts(
        delivered, remote, lambda action: runtime.event_store.issued(action) or runtime.issued.knows(action)
    )


def _admit(event: Event, came_in: Intake, acknowledgement: Action | None, rules: Rules, now: datetime) -> Change:
    """Return the first change of an event: pending, or held where its author is not trusted (yet).

    A held one keeps its acknowledgement until it is approved.
    """
    judged = trust.judge(event, rules.trust)
    if isinstance(judged, Trusted):
        return Change(event_id=event.id, verdict="admitted", state="pending", intake=came_in)
    came_in = replace(came_in, acknowledgement=acknowledgement)
    match judged:
        case Held(reason=reason) if event.kind.control:
            return Change(event_id=event.id, verdict="dropped", state="dropped", reason=reason, intake=came_in)
        case Held(reason=reason):
            return Change(event_id=event.id, verdict="held", state="held", reason=reason, intake=came_in)
        case Unknown(login=login):
            blank = OpenEvent(
                id=event.id,
                state="held",
                position=came_in.position,
                type="",
                source="",
                digest="",
                since=Timestamp.of(now),
            )
            reason = f"the permission of {login} is being looked up"
            wait = deferral.defer(blank, "trust", reason, now=now, policy=rules.backoff)
            wait = replace(wait, deferred_until=Timestamp.of(now))
            return Change(event_id=event.id, verdict="held", state="held", reason=reason, intake=came_in, deferral=wait)
        case _:
            assert_never(judged)
