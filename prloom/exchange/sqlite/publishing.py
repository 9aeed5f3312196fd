"""Put messages into the database, inside a write that has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.sqlite import rows

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    from prloom.exchange.message import Draft, Message

_BY_ID = f"SELECT {rows.MESSAGE} FROM messages AS m WHERE m.id = ?"  # noqa: S608 (columns of ours)
_CONVERSATION = "SELECT conversation_id FROM messages WHERE id = ?"
_BY_KEY = (
    f"SELECT {rows.MESSAGE} FROM deliveries AS d JOIN messages AS m USING (seq)"  # noqa: S608 (likewise)
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


_PUT_ANSWER = "INSERT INTO deliveries (seq, topic, state, reply) VALUES (?, ?, 'ready', 1)"


def put(db: sqlite3.Connection, draft: Draft, now: datetime) -> Message:
    """Store a draft's message, or return the one that it is already."""
    known = None
    if draft.key is not None:
        known = _by_key(db, draft)
    if known:
        made = None
    else:
        made = _new(db, draft, now)
    message = known or made or find(db, draft.id)
    if draft.track:
        subscribe(db, message.conversation_id)
        if made is not None:
            resubscribe(db, message.conversation_id)
    return message


def find(db: sqlite3.Connection, message_id: str) -> Message:
    """Return the message; raises UnknownMessageError."""
    row = db.execute(_BY_ID, (transitions.asked(message_id),)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown(message_id))
    return rows.message(row)


def subscribe(db: sqlite3.Connection, conversation_id: str) -> None:
    """Have it told once when the conversation has ended."""
    db.execute("INSERT INTO tracked (conversation_id) VALUES (?) ON CONFLICT DO NOTHING", (conversation_id,))


def resubscribe(db: sqlite3.Connection, conversation_id: str) -> None:
    """Have it told again when a tracked conversation ends that goes on now, whatever was told of it before."""
    db.execute(
        "UPDATE tracked SET told = 0, token = NULL, taken_until = NULL"
        " WHERE conversation_id = ? AND (told = 1 OR token IS NOT NULL)",
        (conversation_id,),
    )


def _by_key(db: sqlite3.Connection, draft: Draft) -> Message | None:
    row = db.execute(_BY_KEY, (draft.topic, draft.key)).fetchone()
    if row is None:
        return None
    return transitions.same_body(draft, rows.message(row))


def _inherited(db: sqlite3.Connection, draft: Draft) -> str | None:
    """Return the conversation of the draft's parent, if it has one; raises UnknownMessageError."""
    if draft.parent_id is None:
        return None
    row: tuple[str] | None = db.execute(_CONVERSATION, (draft.parent_id,)).fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown(draft.parent_id))
    return row[0]


def _new(db: sqlite3.Connection, draft: Draft, now: datetime) -> Message | None:
    """Store a new message; None where this very draft is stored already."""
    made = transitions.message(draft, _inherited(db, draft), now)
    if _store(db, draft, made):
        return made
    return None


def answer(db: sqlite3.Connection, draft: Draft, conversation_id: str, now: datetime) -> Message:
    """Store a reply, which is new, and whose parent is known to be there, and of that conversation."""
    made = transitions.message(draft, conversation_id, now)
    db.execute(_PUT_ANSWER, (_put_message(db, made).lastrowid, made.topic))
    return made


def _put_message(db: sqlite3.Connection, made: Message) -> sqlite3.Cursor:
    return db.execute(
        _PUT_MESSAGE,
        (
            made.id,
            made.topic,
            made.body,
            rows.micros(made.created_at),
            made.parent_id,
            made.conversation_id,
            made.producer,
            rows.metadata(made.metadata),
        ),
    )


def _store(db: sqlite3.Connection, draft: Draft, made: Message) -> bool:
    stands = transitions.delivery(draft, made.created_at)
    cursor = _put_message(db, made)
    if cursor.rowcount == 0:
        return False
    db.execute(
        _PUT_DELIVERY,
        (
            cursor.lastrowid,
            stands.topic,
            stands.state,
            rows.optional_micros(stands.available_at),
            stands.max_attempts,
            stands.key,
            stands.concurrency_key,
            int(stands.reply),
        ),
    )
    return True
