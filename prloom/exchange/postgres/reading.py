"""Read messages, deliveries, claims and statistics, and make values of their rows.

Texts that may contain NUL characters are stored as bytes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from prloom.exchange import transitions
from prloom.exchange.claim import Claim, Delivery, MessageEntry, TopicStats
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import Message

if TYPE_CHECKING:
    from prloom.exchange.postgres.transaction import DbRow, Transaction
    from prloom.exchange.protocol import MessageFilter

_BY_ID = f"SELECT {transitions.MESSAGE} FROM messages AS m WHERE m.id = %s"  # noqa: S608 (columns of ours)
_JOINED = "FROM messages AS m JOIN deliveries AS d ON d.seq = m.seq"
# Without a body of more bytes than the first value, and with its size, for which PostgreSQL does not read it.
_BOUNDED = (
    transitions.MESSAGE.replace("m.body", "CASE WHEN octet_length(m.body) > %s THEN NULL ELSE m.body END")
    + ", octet_length(m.body)"
)
_ENTRIES = f"SELECT {transitions.MESSAGE}, {transitions.DELIVERY} {_JOINED}"
_CLAIMS = f"SELECT {transitions.CLAIM} FROM claims AS c JOIN messages AS m ON m.seq = c.message"  # noqa: S608 (columns of ours)
_NEWEST = "SELECT coalesce(max(seq), 0) FROM messages"
_SEQ = "SELECT seq FROM messages WHERE id = %s"
ANY_OF = "SELECT FROM messages WHERE conversation_id = %s LIMIT 1"
WORKED = "SELECT topic FROM worked WHERE topic = ANY(%s::text[])"
# Published and ended messages are counted already (see `schema`); the rest is read from indexes of open messages.
STATS = """
WITH clock AS MATERIALIZED (SELECT %s::timestamptz AS now, %s::timestamptz AS since), counts AS (
    SELECT topic, sum(messages)::bigint AS messages, sum(done)::bigint AS done, sum(dead)::bigint AS dead,
        (sum(messages) FILTER (WHERE at > clock.since))::bigint AS published,
        (sum(done + dead) FILTER (WHERE at > clock.since))::bigint AS ended
    FROM counted, clock GROUP BY topic HAVING sum(messages) > 0
), waiting AS (
    SELECT topic, count(*) AS delayed FROM deliveries, clock
    WHERE state = 'ready' AND available_at IS NOT NULL AND available_at > clock.now GROUP BY topic
), active AS (
    SELECT d.topic, count(*) AS leased FROM claims AS c JOIN deliveries AS d ON d.seq = c.message
    WHERE c.status = 'active' GROUP BY d.topic
), firsts AS (
    SELECT topic, least(
        (SELECT d.seq FROM deliveries AS d WHERE d.topic = counts.topic AND d.state = 'ready'
            AND d.available_at IS NULL ORDER BY d.seq LIMIT 1),
        (SELECT min(d.seq) FROM deliveries AS d WHERE d.topic = counts.topic AND d.state = 'ready'
            AND d.available_at IS NOT NULL AND d.available_at <= clock.now)
    ) AS seq FROM counts, clock
)
SELECT counts.topic, messages, coalesce(delayed, 0), coalesce(leased, 0), done, dead, coalesce(published, 0),
    coalesce(ended, 0), clock.now - oldest.created_at
FROM clock CROSS JOIN counts LEFT JOIN waiting USING (topic) LEFT JOIN active USING (topic)
LEFT JOIN firsts USING (topic) LEFT JOIN deliveries AS oldest ON oldest.seq = firsts.seq ORDER BY counts.topic
"""


def to_message(row: DbRow) -> Message:
    """Return the message of a row of MESSAGE."""
    return Message(
        id=row[0],
        topic=row[1],
        body=(row[2] or b"").decode(),
        created_at=row[3],
        parent_id=row[4],
        conversation_id=row[5],
        producer=row[6],
        metadata=transitions.decode_metadata(row[7]),
    )


def to_bounded_message(row: DbRow) -> Message:
    """Return the message of a row of MESSAGE, or of one without the body and with its size."""
    if row[2] is not None:
        return to_message(row)
    return msgspec.structs.replace(to_message(row), omitted=row[transitions.MESSAGE_WIDTH])


def to_delivery(row: DbRow) -> Delivery:
    """Return the delivery of a row of DELIVERY."""
    return Delivery(
        message_id=row[0],
        topic=row[1],
        state=row[2],
        ending=row[3],
        available_at=row[4],
        attempts=row[5],
        max_attempts=row[6],
        key=row[7],
        concurrency_key=row[8],
        ended_at=row[9],
        reply=row[10],
    )


def to_claim(row: DbRow) -> Claim:
    """Return the claim of a row of CLAIM."""
    return Claim(
        id=row[0],
        message_id=row[1],
        worker_group=row[2],
        worker_instance_id=row[3],
        claimed_at=row[4],
        lease_until=row[5],
        status=row[6],
        completed_at=row[7],
        attempt=row[8],
        error=None if row[9] is None else row[9].decode(),
    )


def blob(text: str | None) -> bytes | None:
    """Return a text that may hold NUL characters as it is stored."""
    if text is None:
        return None
    return text.encode()


def searchable(name: str) -> str:
    """Return a name to search for; one that PostgreSQL's texts cannot hold becomes a name that nothing has."""
    if "\0" in name:
        return ""
    return transitions.searchable(name)


def message(tx: Transaction, message_id: str) -> Message:
    """Return the message; raises UnknownMessageError."""
    found = find_message(tx, message_id)
    if found is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return found


def find_message(tx: Transaction, message_id: str) -> Message | None:
    """Return the message, if there is one."""
    row = tx.fetch_one(_BY_ID, searchable(message_id))
    if row is None:
        return None
    return to_message(row)


def bounds(tx: Transaction, selection: MessageFilter) -> tuple[int, int]:
    """Return the number after which to read, and that of the newest message; while nobody publishes."""
    newest = tx.execute(_NEWEST)
    if selection.since is None:
        since = None
    else:
        since = tx.execute(_SEQ, searchable(selection.since))
    (last,) = newest.fetchone() or (0,)
    if since is None:
        return last, 0
    row = since.fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(selection.since or ""))
    return last, row[0]


def messages(selection: MessageFilter, newest: int | None, since: int) -> tuple[str, list[object]]:
    """Return the statement, and its values, for the messages that a filter selects, by publication.

    `newest` is the number up to which no message can come any more.
    """
    wheres = ["m.seq > %s"]
    columns, values = transitions.MESSAGE, list[object]()
    if selection.longest_body is not None:
        columns, values = _BOUNDED, [selection.longest_body]
    values.append(since)
    if newest is not None:
        wheres.append("m.seq <= %s")
        values.append(newest)
    if selection.topic is not None:
        wheres.append("m.topic = %s")
        values.append(searchable(selection.topic))
    if selection.conversation_id is not None:
        wheres.append("m.conversation_id = %s")
        values.append(searchable(selection.conversation_id))
    if selection.replies_to is not None:
        wheres.append("m.parent_id = %s AND (SELECT reply FROM deliveries AS d WHERE d.seq = m.seq)")
        values.append(searchable(selection.replies_to))
    values.append(selection.limit)
    where = " AND ".join(wheres)
    return f"SELECT {columns} FROM messages AS m WHERE {where} ORDER BY m.seq LIMIT %s", values  # noqa: S608 (ours)


def entry(tx: Transaction, message_id: str) -> MessageEntry:
    """Return a message with its claims; raises UnknownMessageError."""
    name = searchable(message_id)
    found, claims = (
        tx.execute(f"{_ENTRIES} WHERE m.id = %s", name),
        tx.execute(f"{_CLAIMS} WHERE m.id = %s ORDER BY c.seq", name),
    )
    row = found.fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return to_entry(row, tuple(map(to_claim, claims)))


def conversation(tx: Transaction, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages with their claims."""
    name = searchable(conversation_id)
    found = tx.execute(f"{_ENTRIES} WHERE m.conversation_id = %s ORDER BY m.seq", name)
    by_message: dict[str, list[Claim]] = defaultdict(list)
    for each in map(to_claim, tx.execute(f"{_CLAIMS} WHERE m.conversation_id = %s ORDER BY c.seq", name)):
        by_message[each.message_id].append(each)
    return tuple(to_entry(row, tuple(by_message[row[0]])) for row in found)


def stats(row: DbRow) -> TopicStats:
    """Return the statistics in a row of STATS."""
    topic, messages, delayed, leased, done, dead, published, ended, age = row
    return TopicStats(
        topic=topic,
        ready=messages - done - dead - delayed - leased,
        delayed=delayed,
        leased=leased,
        done=done,
        dead=dead,
        oldest_ready_age=age,
        published_per_minute=transitions.per_minute(published),
        ended_per_minute=transitions.per_minute(ended),
    )


def to_entry(row: DbRow, claims: tuple[Claim, ...]) -> MessageEntry:
    """Return the entry of a row of MESSAGE and DELIVERY."""
    return MessageEntry(message=to_message(row), delivery=to_delivery(row[transitions.MESSAGE_WIDTH :]), claims=claims)
