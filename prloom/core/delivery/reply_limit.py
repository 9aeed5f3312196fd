"""Limit how many replies a conversation gets in a day (UTC), so that two programs cannot answer each other for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from zlib import crc32

import msgspec

from prloom.model.action import Action, Comment
from prloom.model.decision import DeliveryChange
from prloom.model.record import Timestamp
from prloom.model.state import QueuedAction, RepliesToday

BRAKE = "the brake max_replies_per_thread_per_day"


def thread(action: Action) -> str | None:
    """Return a short name of the conversation in which an action says something; None for one that says nothing new.

    Where the token of the target names a thread, all replies in that are one conversation, whichever of its comments
    they answer; every other token is a conversation of its own.
    """
    token = action.target.token
    if token is None or not action.has_words:
        return None
    if isinstance(action.payload, Comment) and action.payload.appends_to is not None:
        return None
    if isinstance(token, Mapping) and token.get("thread") is not None:
        token = {key: value for key, value in token.items() if key in {"pr", "thread"}}
    encoded = msgspec.json.encode(token, order="sorted")
    return f"{action.target.target}:{crc32(encoded):08x}"


def counted(replies: RepliesToday, delivered: Iterable[QueuedAction], at: datetime) -> RepliesToday:
    """Return the counts of the day with the actions that were delivered just now."""
    threads = [action.thread for action in delivered if action.thread is not None]
    if not threads:
        return replies
    today = _day(at)
    counts = _counts(replies, today)
    for each in threads:
        counts[each] = counts.get(each, 0) + 1
    return RepliesToday(day=today, counts=counts)


def over_limit(
    replies: RepliesToday, sending: Iterable[QueuedAction], limit: int, now: datetime
) -> Mapping[str, DeliveryChange]:
    """Return the waits until the end of the day of the replies for which a conversation has no room today.

    One that a person requested to be tried again has room; 0 is no limit.
    """
    counts = _counts(replies, _day(now))
    found: dict[str, DeliveryChange] = {}
    for action in sending:
        if not limit or action.thread is None or action.lifted:
            continue
        if counts.get(action.thread, 0) >= limit:
            found[action.id] = _wait(action, limit, now)
        else:
            counts[action.thread] = counts.get(action.thread, 0) + 1
    return found


def is_on(action: QueuedAction) -> bool:
    """Whether this brake is what a queued action waits for."""
    return not action.failed and action.next_try is not None and (action.error or "").startswith(BRAKE)


def lifted(queue: Iterable[QueuedAction]) -> tuple[DeliveryChange, ...]:
    """Return the new start of each queued reply that this brake holds back, now that a person has lifted it."""
    return tuple(
        DeliveryChange(action_id=action.id, state="queued", attempts=action.attempts)
        for action in queue
        if is_on(action)
    )


def _wait(action: QueuedAction, limit: int, now: datetime) -> DeliveryChange:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return DeliveryChange(
        action_id=action.id,
        state="retrying",
        attempts=action.attempts,
        next_try=Timestamp.of(today + timedelta(days=1)),
        error=f"{BRAKE} = {limit} is on: the conversation has had as many today; `prloom retry {action.id}` lifts it",
    )


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def _counts(replies: RepliesToday, today: str) -> dict[str, int]:
    if replies.day == today:
        return dict(replies.counts)
    return {}
