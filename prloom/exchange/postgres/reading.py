"""Read messages, their history, and how topics stand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.claim import Claim, MessageEntry, TopicStats
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.postgres import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prloom.exchange.postgres.transaction import Row, Transaction
    from prloom.exchange.protocol import MessageFilter

_JOINED = "FROM messages AS m JOIN deliveries AS d ON d.seq = m.seq"
_ENTRIES = f"SELECT {rows.MESSAGE}, {rows.DELIVERY} {_JOINED}"
_OUTLINES = (
    f"SELECT {rows.WITHOUT_BODY}, {rows.DELIVERY} {_JOINED} WHERE m.conversation_id = ANY(%s::text[]) ORDER BY m.seq"
)
_CLAIMS = f"SELECT {rows.CLAIM} FROM claims AS c JOIN messages AS m ON m.seq = c.message"  # noqa: S608 (columns of ours)
_NEWEST = "SELECT coalesce(max(seq), 0) FROM messages"
_SEQ = "SELECT seq FROM messages WHERE id = %s"
ANY_OF = "SELECT FROM messages WHERE conversation_id = %s LIMIT 1"
WORKED = "SELECT topic FROM worked WHERE topic = ANY(%s::text[])"
# What came and ended is counted already (see `schema`); all else is read from indexes that hold what is open only.
STATS = """
WITH clock AS MATERIALIZED (SELECT %s::timestamptz AS now, %s::timestamptz AS since), counts AS (
    SELECT topic, sum(messages)::bigint AS messages, sum(done)::bigint AS done, sum(dead)::bigint AS dead,
        (sum(messages) FILTER (WHERE at > clock.since))::bigint AS published,
        (sum(done + dead) FILTER (WHERE at > clock.since))::bigint AS ended
    FROM counted, clock GROUP BY topic HAVING sum(messages) > 0
), waiting AS (
    SELECT topic, count(*) AS delayed FROM deliveries, clock
    WHERE state = 'ready' AND available_at IS NOT NULL AND available_at > clock.now GROUP BY topic
), held AS (
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
FROM clock CROSS JOIN counts LEFT JOIN waiting USING (topic) LEFT JOIN held USING (topic) LEFT JOIN firsts USING (topic)
LEFT JOIN deliveries AS oldest ON oldest.seq = firsts.seq ORDER BY counts.topic
"""


def bounds(tx: Transaction, selection: MessageFilter) -> tuple[int, int]:
    """Return up to which number no message can come any more, nobody publishing now, and after which to read."""
    newest = tx.execute(_NEWEST)
    if selection.since is None:
        since = None
    else:
        since = tx.execute(_SEQ, rows.searchable(selection.since))
    (last,) = newest.fetchone() or (0,)
    if since is None:
        return last, 0
    row = since.fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(selection.since or ""))
    return last, row[0]


def messages(selection: MessageFilter, newest: int | None, since: int) -> tuple[str, list[object]]:
    """Return the statement, and its values, for messages that are asked for, by publication.

    `newest` is the number up to which no message can come any more.
    """
    wheres = ["m.seq > %s"]
    values: list[object] = [since]
    if newest is not None:
        wheres.append("m.seq <= %s")
        values.append(newest)
    if selection.topic is not None:
        wheres.append("m.topic = %s")
        values.append(rows.searchable(selection.topic))
    if selection.conversation_id is not None:
        wheres.append("m.conversation_id = %s")
        values.append(rows.searchable(selection.conversation_id))
    if selection.replies_to is not None:
        wheres.append("m.parent_id = %s AND (SELECT reply FROM deliveries AS d WHERE d.seq = m.seq)")
        values.append(rows.searchable(selection.replies_to))
    values.append(selection.limit)
    where = " AND ".join(wheres)
    return f"SELECT {rows.MESSAGE} FROM messages AS m WHERE {where} ORDER BY m.seq LIMIT %s", values  # noqa: S608 (ours)


def entry(tx: Transaction, message_id: str) -> MessageEntry:
    """Return a message with its claims; raises UnknownMessageError."""
    name = rows.searchable(message_id)
    found, claims = (
        tx.execute(f"{_ENTRIES} WHERE m.id = %s", name),
        tx.execute(f"{_CLAIMS} WHERE m.id = %s ORDER BY c.seq", name),
    )
    row = found.fetchone()
    if row is None:
        raise UnknownMessageError(transitions.unknown_text(message_id))
    return _entry(row, tuple(map(rows.claim, claims)))


def conversation(tx: Transaction, conversation_id: str) -> tuple[MessageEntry, ...]:
    """Return a conversation's messages with their claims."""
    name = rows.searchable(conversation_id)
    found = tx.execute(f"{_ENTRIES} WHERE m.conversation_id = %s ORDER BY m.seq", name)
    by_message: dict[str, list[Claim]] = defaultdict(list)
    for each in map(rows.claim, tx.execute(f"{_CLAIMS} WHERE m.conversation_id = %s ORDER BY c.seq", name)):
        by_message[each.message_id].append(each)
    return tuple(_entry(row, tuple(by_message[row[0]])) for row in found)


def outlines(tx: Transaction, names: Sequence[str]) -> dict[str, list[MessageEntry]]:
    """Return conversations as far as their outcome goes: without bodies and claims."""
    found: dict[str, list[MessageEntry]] = defaultdict(list)
    for row in tx.execute(_OUTLINES, list(names)):
        each = _entry(row, ())
        found[each.message.conversation_id].append(each)
    return found


def worked(tx: Transaction, conversations: Iterable[Sequence[MessageEntry]]) -> frozenset[str]:
    """Return those of the conversations' topics that were ever claimed from."""
    topics = sorted({entry.message.topic for entries in conversations for entry in entries})
    return frozenset(topic for (topic,) in tx.execute(WORKED, topics))


def stats(row: Row) -> TopicStats:
    """Return what a row of STATS says."""
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


def _entry(row: Row, claims: tuple[Claim, ...]) -> MessageEntry:
    return MessageEntry(message=rows.message(row), delivery=rows.delivery(row[rows.MESSAGE_WIDTH :]), claims=claims)
