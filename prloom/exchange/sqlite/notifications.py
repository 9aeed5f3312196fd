"""Keep track of conversations of whose end it is to be told, once."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.claim import Ended, Outcome
from prloom.exchange.message import new_id
from prloom.exchange.sqlite import reading, rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from datetime import datetime


# Most wait for work that nobody has done yet: the database passes those by, as `rules.outcome` would, but in a tenth of
# the time.
_OPEN = """
SELECT conversation_id FROM tracked AS t WHERE told = 0 AND (taken_until IS NULL OR taken_until <= ?)
AND NOT EXISTS (
    SELECT 1 FROM messages AS m JOIN deliveries AS d USING (seq)
    WHERE m.conversation_id = t.conversation_id AND d.ending IS NULL
    AND NOT (m.parent_id IS NOT NULL AND d.state = 'ready')
) ORDER BY t.seq
"""


def open_ones(db: sqlite3.Connection, now: datetime) -> Iterator[tuple[str, Outcome]]:
    """Yield name and outcome of each tracked conversation that ended and that nobody has in hand; only reads."""
    # Row by row, for whoever takes one at a time.
    names = db.execute(_OPEN, (rows.micros(now),))
    for (name,) in names:
        outcome = reading.outcome(db, reading.outline(db, name))
        if outcome != "pending":
            yield name, outcome


def claim_notifications(db: sqlite3.Connection, now: datetime, until: datetime, limit: int) -> tuple[Ended, ...]:
    """Take what is to be told, until then."""
    found = list(islice(open_ones(db, now), limit))
    taken = tuple(Ended(conversation_id=name, outcome=outcome, token=new_id()) for name, outcome in found)
    db.executemany(
        "UPDATE tracked SET token = ?, taken_until = ? WHERE conversation_id = ?",
        [(each.token, rows.micros(until), each.conversation_id) for each in taken],
    )
    return taken


def ack_notification(db: sqlite3.Connection, ended: Ended) -> bool:
    """Note that it was told, if it still is this notifier's."""
    changed = db.execute(
        "UPDATE tracked SET told = 1 WHERE conversation_id = ? AND token = ?",
        (transitions.asked(ended.conversation_id), transitions.asked(ended.token)),
    )
    return changed.rowcount == 1
