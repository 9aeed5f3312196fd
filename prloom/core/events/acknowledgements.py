"""Decide which events are acknowledged: a reaction tells their author that prloom received them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from prloom.core.delivery import outbox
from prloom.model import record
from prloom.model.action import Action, React
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.kinds import LET_IN
from prloom.model.state import DispatchState, OpenEvent, QueuedAction

OWNER = "prloom"

Sign = Callable[[Event], React | None]
"""Returns the reaction that acknowledges an event, if there is one."""

FRESH = timedelta(hours=1)
"""How long ago something may have been written that is acknowledged as it comes in.

An author who wrote earlier does not wait for a sign any more; and a first poll of an old conversation, or the morning
after a night without a dispatcher, must not bring hundreds of them.
"""

MOST_WAITING = 3
"""Acknowledgements of one plan that may wait at once: a burst of comments gets this many, and the latest get them."""

IN_A_MINUTE, IN_AN_HOUR = 10, 100
"""Acknowledgements that go through one bridge: what it may write in that time is for the answers."""

_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


class Recent(NamedTuple):
    """The time from which on what is written is acknowledged, and a date two days before it: no zone matters there."""

    since: datetime
    day: str


def recent(*, begun: datetime | None, now: datetime, ahead: timedelta = timedelta()) -> Recent:
    """Return what is recent now, for a plan that prloom looks after since `begun`.

    `ahead` is how far the clock by which the events were written is ahead of the one that gives the other times.
    """
    fresh = now - FRESH
    since = ahead + (fresh if begun is None else max(fresh, begun))
    return Recent(since, record.iso(since - timedelta(days=2))[:10])


def for_new(
    event: Event,
    written_at: str | None,
    sign: Sign,
    recent: Recent,
    opened: Mapping[str, OpenEvent],
    *,
    coming: Collection[str],
    known: Container[str],
) -> Action | None:
    """Return the acknowledgement of an event that comes in; it is the first action that the event causes.

    There is one where a person wrote the event just now, and it is no edit of one that has got its acknowledgement.
    `written_at` is the time of the event itself. `known` has the ids that the plan has had, `coming` those of now.
    """
    if not _is_recent(event, written_at, recent) or _was_acknowledged(event, opened, coming, known=known):
        return None
    reaction = sign(event)
    if reaction is None or event.reply_to is None:
        return None
    ident = outbox.action_id(event.id, OWNER, 0)
    return Action(id=ident, target=event.reply_to, payload=reaction, related_event_id=event.id)


def _is_recent(event: Event, written_at: str | None, recent: Recent) -> bool:
    """Whether a person wrote the event just now, and can be answered.

    An old one is found by comparing texts, which costs a burst of old events no parsing of times.
    """
    if written_at is None or written_at < recent.day:
        return False
    author, at = event.author, record.read_time(written_at)
    if author is None or author.bot or event.reply_to is None or not event.body.strip():
        return False
    return at is not None and at >= recent.since


def _was_acknowledged(
    event: Event, opened: Mapping[str, OpenEvent], coming: Collection[str], *, known: Container[str]
) -> bool:
    """Whether an event is the edit of one that is acknowledged already, or was too old for that.

    One that the plan has not had, that is still held, or that comes in just now, has got nothing.
    """
    older = event.supersedes
    if older is None or older not in known or older in coming:
        return False
    return older not in opened or opened[older].state != "held"


def for_approved(changes: Iterable[Change], state: DispatchState) -> tuple[Action, ...]:
    """Return the acknowledgements of the held events that these changes approve, of which the latest few."""
    let_in = [change.event_id for change in changes if change.state == "pending" and change.verdict in LET_IN]
    found = [state.open[event_id].acknowledgement for event_id in let_in if event_id in state.open]
    return limit_waiting([each for each in found if each is not None], state.queue.values())


def limit_waiting(signs: Sequence[Action], queue: Iterable[QueuedAction]) -> tuple[Action, ...]:
    """Return the latest of these acknowledgements, as many as there is room for beside those that wait already."""
    room = MOST_WAITING - sum(action.courtesy for action in queue)
    if room > 0:
        return tuple(signs[-room:])
    return ()


def may_be_sent(sent: Iterable[datetime], now: datetime) -> tuple[bool, tuple[datetime, ...]]:
    """Return whether one more acknowledgement may be sent through a bridge, and which of the earlier times count."""
    counted = tuple(at for at in sent if timedelta() <= now - at < _HOUR)
    in_a_minute = sum(now - at < _MINUTE for at in counted)
    return len(counted) < IN_AN_HOUR and in_a_minute < IN_A_MINUTE, counted
