"""Put messages into the database, inside a transaction that has a share of the order of publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.postgres import rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from prloom.exchange.message import Draft, Message
    from prloom.exchange.postgres.transaction import Transaction

_BY_ID = f"SELECT {rows.MESSAGE} FROM messages AS m WHERE m.id = %s"  # noqa: S608 (columns of ours)
_BY_IDS = f"SELECT {rows.MESSAGE} FROM messages AS m WHERE m.id = ANY(%s::text[])"  # noqa: S608 (likewise)
_BY_KEYS = (
    f"SELECT d.key, {rows.MESSAGE} FROM unnest(%s::text[], %s::text[]) AS k (topic, key)"  # noqa: S608 (likewise)
    " JOIN deliveries AS d ON d.topic = k.topic AND d.key = k.key JOIN messages AS m ON m.seq = d.seq"
)
_PARENTS = "SELECT id, conversation_id FROM messages WHERE id = ANY(%s::text[])"
PUT = """m AS (
    INSERT INTO messages (id, topic, body, created_at, parent_id, conversation_id, producer, metadata)
    VALUES (%s, %s, %b, %s, %s, %s, %s, %s) RETURNING seq, topic, created_at
), put AS (
    INSERT INTO deliveries (seq, topic, created_at, state, available_at, max_attempts, key, concurrency_key, reply)
    SELECT seq, topic, created_at, %s, %s, %s, %s, %s, %s FROM m
)"""
_TRACK = "INSERT INTO tracked (conversation_id) VALUES (%s) ON CONFLICT DO NOTHING"
_TRACK_ANEW = (
    "UPDATE tracked SET told = false, token = NULL, taken_until = NULL"
    " WHERE conversation_id = %s AND (told OR token IS NOT NULL)"
)


def put(tx: Transaction, drafts: Sequence[Draft]) -> tuple[Message, ...]:
    """Store the drafts' messages, or return the ones that they are already.

    Whoever publishes the same id or key at this moment makes this transaction fail, and it finds theirs the next time.
    """
    all_known = _Known(tx, drafts)
    published = []
    for draft in drafts:
        known = all_known.same(draft)
        message = known or new(tx, draft, all_known.inherited(draft), tx.now)
        if known is None:
            all_known.add(draft, message)
        if draft.track:
            subscribe(tx, message.conversation_id)
        if draft.track and known is None and message.conversation_id != message.id:
            resubscribe(tx, message.conversation_id)
        published.append(message)
    tx.news = True
    return tuple(published)


def new(tx: Transaction, draft: Draft, inherited: str | None, now: datetime) -> Message:
    """Store a draft's message, which is not there yet; its parent's conversation is `inherited`."""
    message, values = made(draft, inherited, now)
    tx.execute(f"WITH {PUT} SELECT", *values)
    tx.news = True
    return message


def made(draft: Draft, inherited: str | None, now: datetime) -> tuple[Message, tuple[object, ...]]:
    """Return the message that a draft becomes, and the values for PUT."""
    message = transitions.message(draft, inherited, now)
    stands = transitions.delivery(draft, now)
    values = (
        message.id,
        message.topic,
        rows.blob(message.body),
        message.created_at,
        message.parent_id,
        message.conversation_id,
        message.producer,
        rows.metadata(message.metadata),
        stands.state,
        stands.available_at,
        stands.max_attempts,
        stands.key,
        stands.concurrency_key,
        stands.reply,
    )
    return message, values


def find(tx: Transaction, message_id: str) -> Message:
    """Return the message; raises UnknownMessageError."""
    message = known(tx, message_id)
    if message is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return message


def known(tx: Transaction, message_id: str) -> Message | None:
    """Return the message, if there is such a one."""
    row = tx.one(_BY_ID, rows.searchable(message_id))
    if row is None:
        return None
    return rows.message(row)


def subscribe(tx: Transaction, conversation_id: str) -> None:
    """Have it told once when the conversation has ended."""
    tx.execute(_TRACK, conversation_id)


def resubscribe(tx: Transaction, conversation_id: str) -> None:
    """Have it told again when a tracked conversation ends that goes on now, whatever was told of it before."""
    tx.execute(_TRACK_ANEW, conversation_id)


class _Known:
    """What the drafts may be already, and their parents: asked for all at once."""

    def __init__(self, tx: Transaction, drafts: Sequence[Draft]) -> None:
        keyed = [draft for draft in drafts if draft.key is not None]
        parents = [rows.searchable(draft.parent_id) for draft in drafts if draft.parent_id is not None]
        ids = tx.execute(_BY_IDS, [draft.id for draft in drafts])
        keys = None
        if keyed:
            keys = tx.execute(_BY_KEYS, [each.topic for each in keyed], [each.key for each in keyed])
        found = None
        if parents:
            found = tx.execute(_PARENTS, parents)
        self._by_id = {row[0]: rows.message(row) for row in ids}
        self._by_key = {(row[2], row[0]): rows.message(row[1:]) for row in keys or ()}
        self._conversations: dict[str, str] = dict(found or ())

    def same(self, draft: Draft) -> Message | None:
        """Return the message that the draft is already; raises KeyTakenError for a key of another body."""
        if draft.id in self._by_id:
            return self._by_id[draft.id]
        if draft.key is None:
            known = None
        else:
            known = self._by_key.get((draft.topic, draft.key))
        if known is None:
            return None
        return transitions.check_same_body(draft, known)

    def inherited(self, draft: Draft) -> str | None:
        """Return the conversation of the draft's parent, if it has one; raises UnknownMessageError."""
        if draft.parent_id is None:
            return None
        if draft.parent_id in self._by_id:
            return self._by_id[draft.parent_id].conversation_id
        if draft.parent_id not in self._conversations:
            raise UnknownMessageError(transitions.unknown_text(draft.parent_id))
        return self._conversations[draft.parent_id]

    def add(self, draft: Draft, message: Message) -> None:
        """Know this one too: a later draft may be its child, or have its key."""
        self._by_id[message.id] = message
        if draft.key is not None:
            self._by_key[draft.topic, draft.key] = message
