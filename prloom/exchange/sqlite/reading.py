"""Read messages, deliveries, claims and statistics, and make values of their rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from prloom.exchange import transitions
from prloom.exchange.claim import Claim, Delivery, MessageEntry, TopicStats
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import Message
from prloom.exchange.sqlite.clock import micros, moment, optional_moment

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    from prloom.exchange.protocol import MessageFilter

DbRow: TypeAlias = tuple[Any, ...]

_BY_ID = f"SELECT {transitions.MESSAGE} FROM messages AS m WHERE m.id = ?"  # noqa: S608 (columns of ours)
_ENTRIES = f"SELECT {transitions.MESSAGE}, {transitions.DELIVERY} FROM messages AS m JOIN deliveries AS d USING (seq)"  # noqa: S608
_REPLIES = (  # a reply is of its request's conversation, and found by that
    "m.conversation_id = (SELECT conversation_id FROM messages WHERE id = ?) AND m.parent_id = ?"
    " AND (SELECT reply FROM deliveries AS d WHERE d.seq = m.seq)"
)
_WITHOUT_BODY = f"{transitions.MESSAGE.replace('m.body', 'NULL')}, m.seq"
_CLAIMS = f"SELECT {transitions.CLAIM} FROM claims AS c JOIN messages AS m ON m.seq = c.message"  # noqa: S608
# Ended messages are counted already (see `schema`); the rest is read from indexes of unfinished messages.
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


def to_message(row: DbRow) -> Message:
    """Return the message of a row of MESSAGE."""
    return Message(
        id=row[0],
        topic=row[1],
        body=row[2] or "",
        created_at=moment(row[3]),
        parent_id=row[4],
        conversation_id=row[5],
        producer=row[6],
        metadata=transitions.decode_metadata(row[7]),
    )


def to_delivery(row: DbRow) -> Delivery:
    """Return the delivery of a row of DELIVERY."""
    return Delivery(
        message_id=row[0],
        topic=row[1],
        state=row[2],
        ending=row[3],
        available_at=optional_moment(row[4]),
        attempts=row[5],
        max_attempts=row[6],
        key=row[7],
        concurrency_key=row[8],
        ended_at=optional_moment(row[9]),
        reply=bool(row[10]),
    )


def to_claim(row: DbRow) -> Claim:
    """Return the claim of a row of CLAIM."""
    return Claim(
        id=row[0],
        message_id=row[1],
        worker_group=row[2],
        worker_instance_id=row[3],
        claimed_at=moment(row[4]),
        lease_until=moment(row[5]),
        status=row[6],
        completed_at=optional_moment(row[7]),
        attempt=row[8],
        error=row[9],
    )


def message(db: sqlite3.Connection, message_id: str) -> Message:
    """Return the message; raises UnknownMessageError."""
    row = db.execute(_BY_ID, (transitions.searchable(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return to_message(row)


def messages(db: sqlite3.Connection, selection: MessageFilter) -> tuple[Message, ...]:
    """Return the messages that a filter selects, by publication."""
    wheres: list[str] = []
    values: list[str | int] = []
    columns = transitions.MESSAGE
    if selection.longest_body is not None:
        columns = _WITHOUT_BODY
    if selection.topic is not None:
        wheres.append("m.topic = ?")
        values.append(transitions.searchable(selection.topic))
    if selection.conversation_id is not None:
        wheres.append("m.conversation_id = ?")
        values.append(transitions.searchable(selection.conversation_id))
    if selection.replies_to is not None:
        wheres.append(_REPLIES)
        values += [transitions.searchable(selection.replies_to)] * 2
    if selection.since is not None:
        wheres.append("m.seq > ?")
        values.append(seq(db, selection.since))
    where = " AND ".join(wheres) or "1"
    found = db.execute(
        f"SELECT {columns} FROM messages AS m WHERE {where} ORDER BY m.seq LIMIT ?",  # noqa: S608 (texts of ours)
        (*values, selection.limit),
    )
    if selection.longest_body is None:
        return tuple(map(to_message, found))
    return tuple(_bounded(db, row, selection.longest_body) for row in found.fetchall())


def _bounded(db: sqlite3.Connection, row: DbRow, longest: int) -> Message:
    """Return the message of a row of _WITHOUT_BODY with its body, unless that is longer.

    SQLite would read a text whole to count its bytes in a statement; a blob that is opened knows its size.
    """
    with db.blobopen("messages", "body", row[transitions.MESSAGE_WIDTH], readonly=True) as body:
        if len(body) > longest:
            return msgspec.structs.replace(to_message(row), omitted=len(body))
        return msgspec.structs.replace(to_message(row), body=body.read().decode())


def entry(db: sqlite3.Connection, message_id: str) -> MessageEntry:
    """Return a message with its claims."""
    row = db.execute(f"{_ENTRIES} WHERE m.id = ?", (transitions.searchable(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    claims = db.execute(f"{_CLAIMS} WHERE m.id = ? ORDER BY c.message, c.number", (message_id,))
    return to_entry(row, tuple(map(to_claim, claims)))


def conversation(db: sqlite3.Connection, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages with their claims."""
    name = transitions.searchable(conversation_id)
    claims: dict[str, list[Claim]] = defaultdict(list)
    for each in map(
        to_claim,
        db.execute(f"{_CLAIMS} WHERE m.conversation_id = ? ORDER BY c.message, c.number", (name,)),
    ):
        claims[each.message_id].append(each)
    found = db.execute(f"{_ENTRIES} WHERE m.conversation_id = ? ORDER BY m.seq", (name,))
    return tuple(to_entry(row, tuple(claims[row[0]])) for row in found)


def stats(db: sqlite3.Connection, now: datetime) -> tuple[TopicStats, ...]:
    """Return the statistics of each topic."""
    since = micros(now - transitions.RATE_WINDOW)
    published = _published(db, since, micros(now - 2 * transitions.RATE_WINDOW))
    leased, ended = Counter(dict(db.execute(_LEASED))), Counter(dict(db.execute(_ENDED, (since,))))
    found = db.execute(_STATS, {"now": micros(now)}).fetchall()
    return tuple(
        _topic_stats(row, now, leased=leased[row[0]], published=published[row[0]], ended=ended[row[0]]) for row in found
    )


def _topic_stats(row: DbRow, now: datetime, *, leased: int, published: int, ended: int) -> TopicStats:
    topic, messages, done, dead, delayed, oldest = row
    oldest_age = None
    if oldest is not None:
        oldest_age = now - moment(oldest)
    return TopicStats(
        topic=topic,
        ready=messages - done - dead - delayed - leased,
        delayed=delayed,
        leased=leased,
        done=done,
        dead=dead,
        oldest_ready_age=oldest_age,
        published_per_minute=transitions.per_minute(published),
        ended_per_minute=transitions.per_minute(ended),
    )


def _published(db: sqlite3.Connection, since: int, back_to: int) -> Counter[str]:
    """Count what was published lately by topic, reading back from the newest message.

    Where the clock was set back, newer messages have an older time; so it is read `back_to` an earlier one.
    """
    counted: Counter[str] = Counter()
    for topic, created_at in db.execute("SELECT topic, created_at FROM messages ORDER BY seq DESC"):
        if created_at > since:
            counted[topic] += 1
        elif created_at <= back_to:
            break
    return counted


def seq(db: sqlite3.Connection, message_id: str) -> int:
    """Return a message's number in the order of publication."""
    row = db.execute("SELECT seq FROM messages WHERE id = ?", (transitions.searchable(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return int(row[0])


def to_entry(row: DbRow, claims: tuple[Claim, ...]) -> MessageEntry:
    """Return the entry of a row of MESSAGE and DELIVERY."""
    return MessageEntry(message=to_message(row), delivery=to_delivery(row[transitions.MESSAGE_WIDTH :]), claims=claims)
