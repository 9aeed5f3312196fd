"""Read messages, their history, and how topics stand."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Claim, MessageEntry, Outcome, TopicStats
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.sqlite import rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime

    from prloom.exchange.message import Message
    from prloom.exchange.protocol import MessageFilter

_MESSAGE_WIDTH = 8
_ENTRIES = f"SELECT {rows.MESSAGE}, {rows.DELIVERY} FROM messages AS m JOIN deliveries AS d USING (seq)"  # noqa: S608
_OUTLINES = _ENTRIES.replace("m.body", "''")
_REPLIES = (  # a reply is of its request's conversation, and found by that
    "m.conversation_id = (SELECT conversation_id FROM messages WHERE id = ?) AND m.parent_id = ?"
    " AND (SELECT reply FROM deliveries AS d WHERE d.seq = m.seq)"
)
_CLAIMS = f"SELECT {rows.CLAIM} FROM claims AS c JOIN messages AS m ON m.seq = c.message"  # noqa: S608
# What has ended is counted already (see `schema`); all else is read from indexes that hold what is unfinished only.
_STATS = """
SELECT topic, messages, done, dead,
    (SELECT count(*) FROM deliveries AS d WHERE d.topic = c.topic AND state = 'ready' AND available_at > :now),
    (SELECT created_at FROM messages WHERE seq = min(
        ifnull((SELECT min(seq) FROM deliveries AS d
            WHERE d.topic = c.topic AND state = 'ready' AND available_at IS NULL), 9e18),
        ifnull((SELECT min(seq) FROM deliveries AS d
            WHERE d.topic = c.topic AND state = 'ready' AND available_at <= :now), 9e18)))
FROM counts AS c ORDER BY topic
"""
_LEASED = """
SELECT d.topic, count(*) FROM claims AS c JOIN deliveries AS d ON d.seq = c.message
WHERE c.status = 'active' AND d.state = 'leased' GROUP BY d.topic
"""
_ENDED = "SELECT topic, count(*) FROM deliveries WHERE ended_at > ? GROUP BY topic"


def messages(db: sqlite3.Connection, selection: MessageFilter) -> tuple[Message, ...]:
    """Return the messages that are asked for, by publication."""
    wheres: list[str] = []
    values: list[str | int] = []
    if selection.topic is not None:
        wheres.append("m.topic = ?")
        values.append(transitions.asked(selection.topic))
    if selection.conversation_id is not None:
        wheres.append("m.conversation_id = ?")
        values.append(transitions.asked(selection.conversation_id))
    if selection.replies_to is not None:
        wheres.append(_REPLIES)
        values += [transitions.asked(selection.replies_to)] * 2
    if selection.since is not None:
        wheres.append("m.seq > ?")
        values.append(seq(db, selection.since))
    where = " AND ".join(wheres) or "1"
    found = db.execute(
        f"SELECT {rows.MESSAGE} FROM messages AS m WHERE {where} ORDER BY m.seq LIMIT ?",  # noqa: S608 (texts of ours)
        (*values, selection.limit),
    )
    return tuple(map(rows.message, found))


def entry(db: sqlite3.Connection, message_id: str) -> MessageEntry:
    """Return a message with its claims."""
    row = db.execute(f"{_ENTRIES} WHERE m.id = ?", (transitions.asked(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown(message_id))
    claims = db.execute(f"{_CLAIMS} WHERE m.id = ? ORDER BY c.message, c.number", (message_id,))
    return _entry(row, tuple(map(rows.claim, claims)))


def conversation(db: sqlite3.Connection, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages with their claims."""
    name = transitions.asked(conversation_id)
    claims: dict[str, list[Claim]] = defaultdict(list)
    for each in map(
        rows.claim,
        db.execute(f"{_CLAIMS} WHERE m.conversation_id = ? ORDER BY c.message, c.number", (name,)),
    ):
        claims[each.message_id].append(each)
    found = db.execute(f"{_ENTRIES} WHERE m.conversation_id = ? ORDER BY m.seq", (name,))
    return tuple(_entry(row, tuple(claims[row[0]])) for row in found)


def outline(db: sqlite3.Connection, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages without their bodies and claims: enough to say how it stands."""
    found = db.execute(f"{_OUTLINES} WHERE m.conversation_id = ? ORDER BY m.seq", (transitions.asked(conversation_id),))
    return tuple(_entry(row, ()) for row in found)


def worked(db: sqlite3.Connection, topics: Sequence[str]) -> frozenset[str]:
    """Return those of the topics that were ever claimed from."""
    one = "SELECT 1 FROM worked WHERE topic = ?"
    return frozenset(topic for topic in set(topics) if db.execute(one, (topic,)).fetchone())


def outcome(db: sqlite3.Connection, entries: Sequence[MessageEntry]) -> Outcome:
    """Return how a conversation stands."""
    return rules.outcome(entries, worked(db, [each.message.topic for each in entries]))


def stats(db: sqlite3.Connection, now: datetime) -> tuple[TopicStats, ...]:
    """Return how each topic stands."""
    since = rows.micros(now - transitions.RATE_WINDOW)
    published = _published(db, since)
    leased, ended = Counter(dict(db.execute(_LEASED))), Counter(dict(db.execute(_ENDED, (since,))))
    found = db.execute(_STATS, {"now": rows.micros(now)}).fetchall()
    return tuple(
        _topic_stats(row, now, leased=leased[row[0]], published=published[row[0]], ended=ended[row[0]]) for row in found
    )


def _topic_stats(row: rows.Row, now: datetime, *, leased: int, published: int, ended: int) -> TopicStats:
    topic, messages, done, dead, delayed, oldest = row
    return TopicStats(
        topic=topic,
        ready=messages - done - dead - delayed - leased,
        delayed=delayed,
        leased=leased,
        done=done,
        dead=dead,
        oldest_ready_age=None if oldest is None else now - rows.moment(oldest),
        published_per_minute=transitions.per_minute(published),
        ended_per_minute=transitions.per_minute(ended),
    )


def _published(db: sqlite3.Connection, since: int) -> Counter[str]:
    """Count what was published lately, reading back from the newest message."""
    counted: Counter[str] = Counter()
    for topic, created_at in db.execute("SELECT topic, created_at FROM messages ORDER BY seq DESC"):
        if created_at <= since:
            break
        counted[topic] += 1
    return counted


def seq(db: sqlite3.Connection, message_id: str) -> int:
    """Return a message's place in the order of publication."""
    row = db.execute("SELECT seq FROM messages WHERE id = ?", (transitions.asked(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown(message_id))
    return int(row[0])


def _entry(row: rows.Row, claims: tuple[Claim, ...]) -> MessageEntry:
    return MessageEntry(message=rows.message(row), delivery=rows.delivery(row[_MESSAGE_WIDTH:]), claims=claims)
