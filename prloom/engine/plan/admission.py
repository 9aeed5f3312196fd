"""Take in what was appended to a plan's bus: known ids and own posts are dropped, strangers are held."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import TypeAlias

from msgspec.structs import replace

from prloom.backoff import Backoff
from prloom.core import acknowledgements, admission, deferral, outbox, trust
from prloom.core.admission import OwnPosts
from prloom.core.trust import Held, Trusted, Unknown
from prloom.engine.bus import entries, history, receipts
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.action import Action, React
from prloom.model.decision import Change, Intake
from prloom.model.event import Event
from prloom.model.position import Cursor, Position
from prloom.model.record import iso
from prloom.model.state import OpenEvent
from prloom.storage.reader import JournalBatch

log = logging.getLogger(__name__)

LINES = 1000
"""Lines that are taken in by one decision."""
MOST = 2000
"""Pending events from which on no more are taken in, until some of these are dealt with; the journal keeps the rest."""
ROOM = 1024 * 1024
"""Characters of text that an event may have."""
PATIENCE = timedelta(seconds=5)
"""How long a last line may be without its newline before it is taken for one whose writer was killed."""
UNSEEN = "no plugin handles it, and no agent sees it"
REPLACED = "events.jsonl was cut or replaced; prloom reads it again from its beginning"

LATE = "a program kept events.jsonl open while it was rotated twice; prloom takes in the lines that it appended then"

Sign = Callable[[Event], React | None]
"""Tells the sign by which an event is acknowledged, if it is to be."""
Known = Callable[[Event, Position], bool]
"""Whether the event of a line was taken in before."""
Unseen = Callable[[Event], bool]
"""Whether an event that is let in is over by that, for nobody is there to see it."""

_Found: TypeAlias = tuple[tuple[Change, ...], tuple[Action, ...], tuple[Event, ...]]


def take_in(runtime: PlanRuntime, sign: Sign, unseen: Unseen = lambda _: False) -> bool:
    """Take in the next lines of the plan's `events.jsonl`, by one decision; return whether there were any."""
    state = runtime.event_store.state
    if runtime.read_to is not None and state.cursor[:2] >= runtime.read_to[:2]:
        return False
    if full(runtime):
        return False
    batch = runtime.event_store.events.read(state.cursor, limit_lines=LINES)
    _mend(runtime, batch)
    rereading = state.rereading
    replaced = batch.gap or not runtime.event_store.events.stands(state.cursor, state.fingerprint)
    if replaced:
        rereading = runtime.event_store.events.end()
        batch = _anew(runtime, rereading)
    elif batch.cursor == state.cursor:
        return _take_in_late(runtime, sign, unseen)
    if batch.skipped:
        log.warning("plan %s: %d lines of events.jsonl are too long to be events", runtime.id, batch.skipped)
    _commit(
        runtime,
        _changes(runtime, batch, sign, unseen),
        cursor=batch.cursor,
        fingerprint=state.fingerprint if batch.fingerprint is None else batch.fingerprint,
        rereading=rereading if rereading is not None and batch.cursor[:2] < rereading[:2] else None,
        note=REPLACED if replaced else None,
    )
    runtime.known.advance(batch.cursor)
    runtime.event_store.ends.note(batch.left)
    return True


def _take_in_late(runtime: PlanRuntime, sign: Sign, unseen: Unseen) -> bool:
    """Take in lines of a program that kept `events.jsonl` open while it was rotated twice."""
    late = runtime.event_store.ends.late(runtime.event_store.state.cursor)
    if late is None:
        return False
    # Their ids may be in the table of that segment, which is made of the whole file. So the log is asked.
    taken = dict(history.taken_in(runtime.event_store.events.folder))

    def known(event: Event, position: Position) -> bool:
        place = runtime.known.position(event.id)
        return event.id in taken or (place is not None and place != position)

    log.warning("plan %s: %s", runtime.id, LATE)
    batch = JournalBatch(late.entries, runtime.event_store.state.cursor)
    _commit(runtime, _changes(runtime, batch, sign, unseen, known), note=LATE)
    runtime.event_store.ends.note([(late.segment, late.end)])
    return True


def _commit(
    runtime: PlanRuntime,
    found: _Found,
    *,
    cursor: Cursor | None = None,
    fingerprint: int | None = None,
    rereading: Cursor | None = None,
    note: str | None = None,
) -> None:
    """Commit what was found in lines of the bus, and how far it was read."""
    changes, signs, told = found
    queue = runtime.event_store.state.queue.values()
    runtime.event_store.commit(
        "intake",
        "prloom",
        changes=changes,
        actions=signs,
        courtesies=tuple(action.id for action in signs),
        deliveries=tuple(end for event in told for end in outbox.withdraw_replies(event, queue)),
        plan_status=admission.plan_status(told) if runtime.id else None,
        cursor=cursor,
        fingerprint=fingerprint,
        rereading=rereading,
        note=note,
    )


def _anew(runtime: PlanRuntime, end: Cursor) -> JournalBatch:
    """Read a journal that was cut or replaced from its beginning; what was taken in before is known by the log."""
    log.warning("plan %s: %s", runtime.id, REPLACED)
    start = end._replace(offset=0)
    runtime.know(start, end)
    return runtime.event_store.events.read(start, limit_lines=LINES)


def full(runtime: PlanRuntime) -> bool:
    """Whether as many events wait to be dealt with as memory is meant for.

    Those in an agent's run do not count, and while only commands are obeyed everything is taken in, for one may come.
    """
    opened = runtime.event_store.state.open
    if len(opened) < MOST or runtime.paused:
        return False
    return sum(event.state == "pending" and event.run is None for event in opened.values()) >= MOST


def _mend(runtime: PlanRuntime, batch: JournalBatch) -> None:
    """Mend a last line without its newline once it has stood for a while: its writer was killed, or forgot it."""
    end = None
    if batch.unfinished:
        end = batch.cursor._replace(offset=batch.cursor.offset + batch.unfinished)
    if end is None or runtime.torn is None or runtime.torn[0] != end:
        if end is None:
            runtime.torn = None
        else:
            runtime.torn = (end, runtime.clock())
    elif not timedelta() <= runtime.clock() - runtime.torn[1] < PATIENCE:  # or the clock was turned back
        aside = runtime.event_store.events.heal()
        log.warning("plan %s: events.jsonl ended in half a line%s", runtime.id, f", now in {aside}" if aside else "")
        runtime.torn = None


def _changes(
    runtime: PlanRuntime, batch: JournalBatch, sign: Sign, unseen: Unseen, known: Known | None = None
) -> _Found:
    """Return what becomes of each event of a batch, the acknowledgements, and the notices; remember the events' ids."""
    posts = own_posts(runtime)
    begun, now = runtime.plan.created_at, runtime.clock()
    recent = acknowledgements.recent(begun=begun, now=now)
    recent_at = {runtime.plan.forge: acknowledgements.recent(begun=begun, now=now, ahead=runtime.forge_ahead)}
    changes: list[Change] = []
    signs: dict[str, Action] = {}
    told: list[Event] = []
    coming: set[str] = set()
    for entry in batch.entries:
        event = entries.event(entry.line)
        if event is None:
            log.warning("plan %s: a line of events.jsonl cannot be read; `prloom doctor` names it", runtime.id)
            continue
        if (
            event.id in runtime.known if known is None else known(event, entry.position)
        ):  # also where it came in just now
            runtime.known.add_again(event.id, entry.position)
            continue
        runtime.known.add(event.id, entry.position)
        if admission.own(event, posts):
            continue
        answer = runtime.issued.answer(event)
        if answer is not None:
            changes.append(_answered(event, answer, entry.position))
            continue
        came_in = admission.intake(event, entry.position)
        asked = acknowledgements.wanted(event, came_in.written_at, recent_at.get(event.source, recent))
        acknowledgement = _acknowledgement(runtime, event, coming, sign) if asked else None
        older = admission.superseded(event, runtime.event_store.state.open, coming)
        if older is not None:
            changes.append(older)
            signs.pop(older.event_id, None)
        changes.append(admitted(runtime, event, came_in, acknowledgement))
        if changes[-1].state == "pending" and acknowledgement is not None:
            signs[event.id] = acknowledgement
        if came_in.notice:
            told.append(event)
        if changes[-1].state == "pending" and unseen(event):
            changes[-1] = Change(event_id=event.id, verdict="handled", state="handled", reason=UNSEEN, intake=came_in)
        else:
            runtime.event_store.texts.keep(event)
            coming.add(event.id)
    return (
        tuple(changes),
        acknowledgements.few(list(signs.values()), runtime.event_store.state.queue.values()),
        tuple(told),
    )


def _answered(event: Event, answer: str, position: Position) -> Change:
    """Return the first and last change of an event that prloom answered before this plan's files began."""
    return Change(
        event_id=event.id, verdict="handled", state="handled", reason=answer, intake=admission.intake(event, position)
    )


def _acknowledgement(runtime: PlanRuntime, event: Event, coming: Collection[str], sign: Sign) -> Action | None:
    """Return the action by which a recent event is acknowledged when it is let in, or None for none."""
    wanted = sign(event)
    if wanted is None:
        return None
    known = event.supersedes is not None and event.supersedes in runtime.known
    if acknowledgements.had_one(event, runtime.event_store.state.open, coming, known=known):
        return None
    return acknowledgements.action(event, wanted)


def own_posts(runtime: PlanRuntime) -> OwnPosts:
    """Return what the plan knows of prloom's own posts."""
    known = receipts.all_of(runtime.local, runtime.clock())
    remote = frozenset(receipt.remote_id for receipt in known.values() if receipt.remote_id)
    return OwnPosts(known, remote, lambda action: runtime.event_store.issued(action) or runtime.issued.knows(action))


def remember_own(runtime: PlanRuntime, events: Sequence[Event]) -> None:
    """Remember those of prloom's own posts in a poll that this plan's files do not know, and what they answer."""
    if any(outbox.MARKER_START in event.body for event in events):
        own = admission.posts(events, own_posts(runtime))
    else:
        own = {}
    unknown = {action: event for action, event in own.items() if not runtime.event_store.issued(action)}
    if unknown:
        posted = {event.id for event in own.values()}
        runtime.issued.find(unknown, [event for event in events if event.id not in posted])


def admitted(runtime: PlanRuntime, event: Event, came_in: Intake, acknowledgement: Action | None = None) -> Change:
    """Return the first change of an event: pending, or held where its author is not trusted (yet).

    A held one keeps its acknowledgement until it is let in.
    """
    judged = trust.judge(event, runtime.rules.trust)
    if isinstance(judged, Trusted):
        return Change(event_id=event.id, verdict="admitted", state="pending", intake=came_in)
    came_in = replace(came_in, acknowledgement=acknowledgement)
    match judged:
        case Held(reason=reason):
            return Change(event_id=event.id, verdict="held", state="held", reason=reason, intake=came_in)
        case Unknown(login=login):
            blank = OpenEvent(
                id=event.id, state="held", position=came_in.position, type="", source="", digest="", since=""
            )
            reason = f"the permission of {login} is being looked up"
            now = runtime.clock()
            wait = replace(
                deferral.defer(blank, "trust", reason, now=now, policy=runtime.rules.backoff), deferred_until=iso(now)
            )
            return Change(event_id=event.id, verdict="held", state="held", reason=reason, intake=came_in, deferral=wait)


def looked_up(runtime: PlanRuntime, event_id: str, permission: str | None, why: str | None) -> None:
    """Decide a held event by the permission that was looked up, or wait where nobody could tell it.

    One that somebody vouched for or dropped meanwhile keeps what became of it.
    """
    event = runtime.event_store.state.open.get(event_id)
    if event is None or event.state != "held" or event.deferral is None:
        return
    login = event.author or ""
    policy: Backoff = runtime.rules.backoff
    if permission is None:
        held = trust.unknown(login, why or "no bridge can look it up")
        wait = deferral.defer(event, "trust", held.reason, now=runtime.clock(), policy=policy)
        change = Change(event_id=event.id, verdict="held", state="held", reason=held.reason, deferral=wait)
    else:
        judged = trust.rank(login, permission, runtime.rules.trust)
        reason = f"{login} has {permission} permission"
        if isinstance(judged, Trusted):
            change = Change(event_id=event.id, verdict="admitted", state="pending", reason=reason)
        else:
            change = Change(event_id=event.id, verdict="held", state="held", reason=judged.reason)
    signs = acknowledgements.owed((change,), runtime.event_store.state)
    runtime.event_store.commit(
        "trust", "prloom", changes=(change,), actions=signs, courtesies=tuple(action.id for action in signs)
    )


def news(runtime: PlanRuntime, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return what of a poll's events the plan has not had yet; prloom's own posts are no news."""
    return admission.news(events, runtime.known.__contains__, own_posts(runtime))


def append(runtime: PlanRuntime, events: Sequence[Event]) -> int:
    """Append events to the plan's bus, on disk when this returns; return how many."""
    shown = [admission.shortened(each) for each in events]
    fitting = [_writable(each) if len(each.title) + len(each.body) > ROOM else each for each in shown]
    return entries.append(runtime.event_store.events, fitting, runtime.clock())


def _writable(event: Event) -> Event:
    """Return the event in a form that a line can hold: one that is too long for that is cut, and says so."""
    room = ROOM - len(event.title)
    if len(event.body) <= room:
        return event
    log.warning("event %s has %d characters; prloom keeps the first %d", event.id, len(event.body), room)
    return replace(event, body=f"{event.body[: max(room, 0)]}\n\n(cut off by prloom)")
