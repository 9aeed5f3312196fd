"""Write conversations: publish messages, claim the ends that are to be reported, and remove old ones."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from prloom.exchange import rules, transitions
from prloom.exchange.claim import ConversationOutcome, Ended, MessageEntry
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import new_id
from prloom.exchange.sqlite import reading
from prloom.exchange.sqlite.clock import micros, optional_micros

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from prloom.exchange.message import Draft, Message

_CONVERSATION = "SELECT conversation_id FROM messages WHERE id = ?"
_BY_KEY = (
    f"SELECT {transitions.MESSAGE} FROM deliveries AS d JOIN messages AS m USING (seq)"  # noqa: S608 (columns of ours)
    " WHERE d.topic = ? AND d.key = ?"
)
_PUT_MESSAGE = (
    "INSERT INTO messages (id, topic, body, created_at, parent_id, conversation_id, producer, metadata)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
_PUT_DELIVERY = (
    "INSERT INTO deliveries (seq, topic, state, available_at, max_attempts, key, concurrency_key, reply)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_REPLY_DELIVERY = "INSERT INTO deliveries (seq, topic, state, reply) VALUES (?, ?, 'ready', 1)"
_OUTLINES = f"""SELECT {transitions.MESSAGE}, {transitions.DELIVERY}
FROM messages AS m JOIN deliveries AS d USING (seq)""".replace("m.body", "''")  # noqa: S608 (likewise)
# Most conversations wait for work: the database skips them, as `rules.outcome` would, but in a tenth of the time.
_OPEN = """
SELECT conversation_id FROM tracked AS t WHERE told = 0 AND (taken_until IS NULL OR taken_until <= ?)
AND NOT EXISTS (
    SELECT 1 FROM messages AS m JOIN deliveries AS d USING (seq)
    WHERE m.conversation_id = t.conversation_id AND d.ending IS NULL
    AND NOT (m.parent_id IS NOT NULL AND d.state = 'ready')
) ORDER BY t.seq
"""


def publish(db: sqlite3.Connection, draft: Draft, now: datetime) -> Message:
    """Store a draft's message, or return the message that was published before with its key or id."""
    existing = _by_key(db, draft)
    stored = None
    if existing is None:
        stored = _new(db, draft, now)
    message = existing or stored or reading.message(db, draft.id)
    if draft.track:
        subscribe(db, message.conversation_id)
        if stored is not None:
            resubscribe(db, message.conversation_id)
    return message


def subscribe(db: sqlite3.Connection, conversation_id: str) -> None:
    """Have the conversation's end reported once."""
    db.execute("INSERT INTO tracked (conversation_id) VALUES (?) ON CONFLICT DO NOTHING", (conversation_id,))


def resubscribe(db: sqlite3.Connection, conversation_id: str) -> None:
    """Have the next end of a tracked conversation reported, whatever was reported before: it continues now."""
    db.execute(
        "UPDATE tracked SET told = 0, token = NULL, taken_until = NULL"
        " WHERE conversation_id = ? AND (told = 1 OR token IS NOT NULL)",
        (conversation_id,),
    )


def _by_key(db: sqlite3.Connection, draft: Draft) -> Message | None:
    if draft.key is None:
        return None
    row = db.execute(_BY_KEY, (draft.topic, draft.key)).fetchone()
    if row is None:
        return None
    return transitions.check_same_body(draft, reading.to_message(row))


def _inherited(db: sqlite3.Connection, draft: Draft) -> str | None:
    """Return the conversation of the draft's parent, if it has one; raises UnknownMessageError."""
    if draft.parent_id is None:
        return None
    row: tuple[str] | None = db.execute(_CONVERSATION, (draft.parent_id,)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(draft.parent_id))
    return row[0]


def _new(db: sqlite3.Connection, draft: Draft, now: datetime) -> Message | None:
    """Store a new message; None where this very draft is stored already."""
    made = transitions.message(draft, _inherited(db, draft), now)
    if _store(db, draft, made):
        return made
    return None


def publish_reply(db: sqlite3.Connection, draft: Draft, conversation_id: str, now: datetime) -> Message:
    """Store a reply, which is new, and whose parent exists in that conversation."""
    made = transitions.message(draft, conversation_id, now)
    db.execute(_PUT_REPLY_DELIVERY, (_put_message(db, made).lastrowid, made.topic))
    return made


def _put_message(db: sqlite3.Connection, made: Message) -> sqlite3.Cursor:
    return db.execute(
        _PUT_MESSAGE,
        (
            made.id,
            made.topic,
            made.body,
            micros(made.created_at),
            made.parent_id,
            made.conversation_id,
            made.producer,
            transitions.encode_metadata(made.metadata),
        ),
    )


def _store(db: sqlite3.Connection, draft: Draft, made: Message) -> bool:
    delivery = transitions.delivery(draft, made.created_at)
    cursor = _put_message(db, made)
    if cursor.rowcount == 0:
        return False
    db.execute(
        _PUT_DELIVERY,
        (
            cursor.lastrowid,
            delivery.topic,
            delivery.state,
            optional_micros(delivery.available_at),
            delivery.max_attempts,
            delivery.key,
            delivery.concurrency_key,
            int(delivery.reply),
        ),
    )
    return True


def outline(db: sqlite3.Connection, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages without their bodies and claims: enough for its outcome."""
    found = db.execute(
        f"{_OUTLINES} WHERE m.conversation_id = ? ORDER BY m.seq", (transitions.searchable(conversation_id),)
    )
    return tuple(reading.to_entry(row, ()) for row in found)


def worked(db: sqlite3.Connection, topics: Sequence[str]) -> frozenset[str]:
    """Return those of the topics that ever had a worker."""
    one = "SELECT 1 FROM worked WHERE topic = ?"
    return frozenset(topic for topic in set(topics) if db.execute(one, (topic,)).fetchone())


def outcome(db: sqlite3.Connection, entries: Sequence[MessageEntry]) -> ConversationOutcome:
    """Return the outcome of a conversation."""
    return rules.outcome(entries, worked(db, [each.message.topic for each in entries]))


def ended(db: sqlite3.Connection, now: datetime) -> Iterator[tuple[str, ConversationOutcome]]:
    """Yield name and outcome of each tracked conversation whose end is to be reported, row by row; only read."""
    names = db.execute(_OPEN, (micros(now),))
    for (name,) in names:
        ending = outcome(db, outline(db, name))
        if ending != "pending":
            yield name, ending


def claim_notifications(db: sqlite3.Connection, now: datetime, until: datetime, limit: int) -> tuple[Ended, ...]:
    """Claim the ends that are to be reported, until then."""
    found = list(islice(ended(db, now), limit))
    taken = tuple(Ended(conversation_id=name, outcome=outcome, token=new_id()) for name, outcome in found)
    db.executemany(
        "UPDATE tracked SET token = ?, taken_until = ? WHERE conversation_id = ?",
        [(each.token, micros(until), each.conversation_id) for each in taken],
    )
    return taken


def ack_notification(db: sqlite3.Connection, ended: Ended) -> bool:
    """Record that an end was reported; return False if another notifier has claimed it since."""
    changed = db.execute(
        "UPDATE tracked SET told = 1 WHERE conversation_id = ? AND token = ?",
        (transitions.searchable(ended.conversation_id), transitions.searchable(ended.token)),
    )
    return changed.rowcount == 1


def older_than(db: sqlite3.Connection, before: datetime, producer: str | None, limit: int | None) -> tuple[str, ...]:
    """Return conversations in which a message has ended before then, those that did first; only read."""
    by, most = "", -1
    values: list[object] = [micros(before)]
    if producer is not None:
        by = " AND m.producer = ?"
        values.append(transitions.searchable(producer))
    if limit is not None:
        most = limit
    names = db.execute(
        "SELECT m.conversation_id FROM deliveries AS d JOIN messages AS m USING (seq)"  # noqa: S608 (a text of ours)
        f" WHERE d.ended_at < ?{by} ORDER BY d.ended_at LIMIT ?",
        (*values, most),
    )
    return tuple(dict.fromkeys(name for (name,) in names))


def remove(db: sqlite3.Connection, names: Sequence[str], before: datetime) -> int:
    """Remove those of the conversations that ended before then, and return how many messages they had."""
    removed = 0
    for name in names:
        entries = outline(db, name)
        if entries and transitions.prunable(entries, worked(db, [each.message.topic for each in entries]), before):
            _remove(db, name)
            removed += len(entries)
    return removed


def _remove(db: sqlite3.Connection, name: str) -> None:
    its = "(SELECT seq FROM messages WHERE conversation_id = ?)"
    db.execute(f"DELETE FROM claims WHERE message IN {its}", (name,))  # noqa: S608 (a text of ours)
    db.execute(f"DELETE FROM deliveries WHERE seq IN {its}", (name,))  # noqa: S608 (likewise)
    db.execute("DELETE FROM messages WHERE conversation_id = ?", (name,))
    db.execute("DELETE FROM tracked WHERE conversation_id = ?", (name,))
