"""Write conversations: publish messages, claim the ends that are to be reported, and remove old ones.

The transactions of these have a share in the order of publication.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Ended
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import new_id
from prloom.exchange.postgres import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime, timedelta

    from prloom.exchange.claim import MessageEntry
    from prloom.exchange.message import Draft, Message
    from prloom.exchange.postgres.transaction import Transaction

_BY_IDS = f"SELECT {transitions.MESSAGE} FROM messages AS m WHERE m.id = ANY(%s::text[])"  # noqa: S608 (likewise)
_BY_KEYS = (
    f"SELECT d.key, {transitions.MESSAGE} FROM unnest(%s::text[], %s::text[]) AS k (topic, key)"  # noqa: S608 (likewise)
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
_OUTLINES = f"""SELECT {transitions.MESSAGE}, {transitions.DELIVERY}
FROM messages AS m JOIN deliveries AS d ON d.seq = m.seq
WHERE m.conversation_id = ANY(%s::text[]) ORDER BY m.seq""".replace("m.body", "''::bytea")  # noqa: S608 (likewise)
# Most conversations wait for work: the server skips them, as `rules.outcome` would.
_OPEN = """
SELECT conversation_id FROM tracked AS t WHERE NOT told AND (taken_until IS NULL OR taken_until <= %s)
AND NOT EXISTS (
    SELECT FROM messages AS m JOIN deliveries AS d ON d.seq = m.seq
    WHERE m.conversation_id = t.conversation_id AND d.ending IS NULL
    AND NOT (m.parent_id IS NOT NULL AND d.state = 'ready')
) ORDER BY conversation_id
"""
_TAKE = (
    "UPDATE tracked SET token = %s, taken_until = %s"
    " WHERE conversation_id = %s AND NOT told AND (taken_until IS NULL OR taken_until <= %s OR token = %s) RETURNING 1"
)
ACKNOWLEDGE = "UPDATE tracked SET told = true WHERE conversation_id = %s AND token = %s RETURNING 1"
OLD = (
    "SELECT m.conversation_id FROM messages AS m JOIN deliveries AS d ON d.seq = m.seq"
    " WHERE d.ended_at < %s AND (%s::text IS NULL OR m.producer = %s)"
    " GROUP BY m.conversation_id ORDER BY min(m.seq) LIMIT %s"
)
_ITS = "(SELECT seq FROM messages WHERE conversation_id = ANY(%s::text[]))"
_LOCK = f"SELECT FROM deliveries WHERE seq IN {_ITS} FOR UPDATE"
_REMOVE = (
    f"DELETE FROM claims WHERE message IN {_ITS}",  # noqa: S608 (likewise)
    f"DELETE FROM deliveries WHERE seq IN {_ITS}",  # noqa: S608 (likewise)
    "DELETE FROM messages WHERE conversation_id = ANY(%s::text[])",
    "DELETE FROM tracked WHERE conversation_id = ANY(%s::text[])",
)


def publish(tx: Transaction, drafts: Sequence[Draft]) -> tuple[Message, ...]:
    """Store the drafts' messages, or return those that were published before with their keys or ids.

    If another client publishes the same id or key meanwhile, this transaction fails, and its repetition finds that.
    """
    existing = _Existing(tx, drafts)
    published = []
    for draft in drafts:
        message = existing.find(draft)
        is_new = message is None
        if message is None:
            message = new(tx, draft, existing.inherited(draft), tx.now)
            existing.add(draft, message)
        if draft.track:
            subscribe(tx, message.conversation_id)
        if draft.track and is_new and message.conversation_id != message.id:
            resubscribe(tx, message.conversation_id)
        published.append(message)
    tx.changed = True
    return tuple(published)


def new(tx: Transaction, draft: Draft, inherited: str | None, now: datetime) -> Message:
    """Store the message of a new draft; its parent's conversation is `inherited`."""
    message, values = insert_values(draft, inherited, now)
    tx.execute(f"WITH {PUT} SELECT", *values)
    tx.changed = True
    return message


def insert_values(draft: Draft, inherited: str | None, now: datetime) -> tuple[Message, tuple[object, ...]]:
    """Return the message that a draft becomes, and the values for PUT."""
    message = transitions.message(draft, inherited, now)
    delivery = transitions.delivery(draft, now)
    values = (
        message.id,
        message.topic,
        reading.blob(message.body),
        message.created_at,
        message.parent_id,
        message.conversation_id,
        message.producer,
        transitions.encode_metadata(message.metadata),
        delivery.state,
        delivery.available_at,
        delivery.max_attempts,
        delivery.key,
        delivery.concurrency_key,
        delivery.reply,
    )
    return message, values


def subscribe(tx: Transaction, conversation_id: str) -> None:
    """Have the conversation's end reported once."""
    tx.execute(_TRACK, conversation_id)


def resubscribe(tx: Transaction, conversation_id: str) -> None:
    """Have the next end of a tracked conversation reported, whatever was reported before: it continues now."""
    tx.execute(_TRACK_ANEW, conversation_id)


class _Existing:
    """The messages that the drafts may be already, and their parents, all read at once."""

    def __init__(self, tx: Transaction, drafts: Sequence[Draft]) -> None:
        keyed = [draft for draft in drafts if draft.key is not None]
        parents = [reading.searchable(draft.parent_id) for draft in drafts if draft.parent_id is not None]
        ids = tx.execute(_BY_IDS, [draft.id for draft in drafts])
        keys = None
        if keyed:
            keys = tx.execute(_BY_KEYS, [each.topic for each in keyed], [each.key for each in keyed])
        found = None
        if parents:
            found = tx.execute(_PARENTS, parents)
        self._by_id = {row[0]: reading.to_message(row) for row in ids}
        self._by_key = {(row[2], row[0]): reading.to_message(row[1:]) for row in keys or ()}
        self._conversations: dict[str, str] = dict(found or ())

    def find(self, draft: Draft) -> Message | None:
        """Return the message that the draft is already; raises KeyTakenError for a key of another body."""
        if draft.id in self._by_id:
            return self._by_id[draft.id]
        if draft.key is None or (draft.topic, draft.key) not in self._by_key:
            return None
        return transitions.check_same_body(draft, self._by_key[draft.topic, draft.key])

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
        """Add a new message: a later draft may be its child, or have its key."""
        self._by_id[message.id] = message
        if draft.key is not None:
            self._by_key[draft.topic, draft.key] = message


def outlines(tx: Transaction, names: Sequence[str]) -> dict[str, list[MessageEntry]]:
    """Return the messages of conversations without bodies and claims: enough for their outcomes."""
    found: dict[str, list[MessageEntry]] = defaultdict(list)
    for row in tx.execute(_OUTLINES, list(names)):
        each = reading.to_entry(row, ())
        found[each.message.conversation_id].append(each)
    return found


def worked(tx: Transaction, conversations: Iterable[Sequence[MessageEntry]]) -> frozenset[str]:
    """Return those of the conversations' topics that ever had a worker."""
    topics = sorted({entry.message.topic for entries in conversations for entry in entries})
    return frozenset(topic for (topic,) in tx.execute(reading.WORKED, topics))


def ended(tx: Transaction, now: datetime, limit: int) -> tuple[Ended, ...]:
    """Return the ends of tracked conversations that are to be reported, each with a new token; only read."""
    names = [name for (name,) in tx.execute(_OPEN, now)]
    if not names:
        return ()
    found = outlines(tx, names)
    topics = worked(tx, found.values())
    outcomes = ((name, rules.outcome(found[name], topics)) for name in names)
    return tuple(
        Ended(conversation_id=name, outcome=outcome, token=new_id())
        for name, outcome in outcomes
        if outcome != "pending"
    )[:limit]


def claim_notifications(tx: Transaction, several: Sequence[Ended], lease: timedelta) -> tuple[Ended, ...]:
    """Claim those ends that are still to be reported, for so long; one claimed with the same token stays claimed."""
    now = tx.now
    # By name, so that two notifiers never wait for each other in a circle.
    answers = [tx.execute(_TAKE, each.token, now + lease, each.conversation_id, now, each.token) for each in several]
    return tuple(each for each, answer in zip(several, answers, strict=True) if answer.fetchone() is not None)


def remove(tx: Transaction, names: Sequence[str], before: datetime) -> int:
    """Remove those of the conversations that ended before then, and return how many messages they had."""
    tx.execute(_LOCK, list(names))  # waits for what is being claimed, and reads its new state
    found = outlines(tx, names)
    topics = worked(tx, found.values())
    gone = [name for name, entries in found.items() if transitions.prunable(entries, topics, before)]
    for statement in _REMOVE:
        tx.execute(statement, gone)
    return sum(len(found[name]) for name in gone)
