"""Read messages, their history, and how topics stand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prloom.exchange import rules, standing
from prloom.exchange.claim import Claim, Entry, Outcome, TopicStats
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.sqlite import rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime

    from prloom.exchange.message import Message
    from prloom.exchange.protocol import Selection

_MESSAGE_WIDTH = 8
_ENTRIES = f"SELECT {rows.MESSAGE}, {rows.DELIVERY} FROM messages AS m JOIN deliveries AS d USING (seq)"  # noqa: S608
_CLAIMS = f"SELECT {rows.CLAIM} FROM claims AS c JOIN messages AS m ON m.seq = c.message"  # noqa: S608


def messages(db: sqlite3.Connection, selection: Selection) -> tuple[Message, ...]:
    """Return the messages that are asked for, by publication."""
    wheres: list[str] = []
    values: list[str | int] = []
    if selection.topic is not None:
        wheres.append("m.topic = ?")
        values.append(selection.topic)
    if selection.conversation_id is not None:
        wheres.append("m.conversation_id = ?")
        values.append(selection.conversation_id)
    if selection.replies_to is not None:
        wheres.append("m.parent_id = ? AND (SELECT reply FROM deliveries AS d WHERE d.seq = m.seq)")
        values.append(selection.replies_to)
    if selection.since is not None:
        wheres.append("m.seq > ?")
        values.append(seq(db, selection.since))
    where = " AND ".join(wheres) or "1"
    found = db.execute(
        f"SELECT {rows.MESSAGE} FROM messages AS m WHERE {where} ORDER BY m.seq LIMIT ?",  # noqa: S608 (texts of ours)
        (*values, selection.limit),
    )
    return tuple(map(rows.message, found))


def entry(db: sqlite3.Connection, message_id: str) -> Entry:
    """Return a message with its claims."""
    row = db.execute(f"{_ENTRIES} WHERE m.id = ?", (message_id,)).fetchone()
    if row is None:
        raise UnknownMessageError(standing.unknown(message_id))
    claims = db.execute(f"{_CLAIMS} WHERE m.id = ? ORDER BY c.seq", (message_id,))
    return _entry(row, tuple(map(rows.claim, claims)))


def conversation(db: sqlite3.Connection, conversation_id: str) -> tuple[Entry, ...]:
    """Return a conversation's messages with their claims."""
    claims: dict[str, list[Claim]] = defaultdict(list)
    for each in map(
        rows.claim, db.execute(f"{_CLAIMS} WHERE m.conversation_id = ? ORDER BY c.seq", (conversation_id,))
    ):
        claims[each.message_id].append(each)
    found = db.execute(f"{_ENTRIES} WHERE m.conversation_id = ? ORDER BY m.seq", (conversation_id,))
    return tuple(_entry(row, tuple(claims[row[0]])) for row in found)


def worked(db: sqlite3.Connection, topics: Sequence[str]) -> frozenset[str]:
    """Return those of the topics that were ever claimed from."""
    one = "SELECT 1 FROM worked WHERE topic = ?"
    return frozenset(topic for topic in set(topics) if db.execute(one, (topic,)).fetchone())


def outcome(db: sqlite3.Connection, entries: Sequence[Entry]) -> Outcome:
    """Return how a conversation stands."""
    return rules.outcome(entries, worked(db, [each.message.topic for each in entries]))


def stats(db: sqlite3.Connection, now: datetime) -> tuple[TopicStats, ...]:
    """Return how each topic stands."""
    by_topic: dict[str, list[Entry]] = defaultdict(list)
    for row in db.execute(f"{_ENTRIES} ORDER BY m.seq"):
        each = _entry(row, ())
        by_topic[each.message.topic].append(each)
    return tuple(standing.stats(topic, by_topic[topic], now) for topic in sorted(by_topic))


def seq(db: sqlite3.Connection, message_id: str) -> int:
    """Return a message's place in the order of publication."""
    row = db.execute("SELECT seq FROM messages WHERE id = ?", (message_id,)).fetchone()
    if row is None:
        raise UnknownMessageError(standing.unknown(message_id))
    return int(row[0])


def _entry(row: rows.Row, claims: tuple[Claim, ...]) -> Entry:
    return Entry(message=rows.message(row), delivery=rows.delivery(row[_MESSAGE_WIDTH:]), claims=claims)
