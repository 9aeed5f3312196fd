"""Keep track of conversations of whose end it is to be told, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange import rules
from prloom.exchange.claim import Ended
from prloom.exchange.message import new_id
from prloom.exchange.postgres import reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from prloom.exchange.postgres.transaction import Transaction

# Most wait for work that nobody has done yet: the server passes those by, as `rules.outcome` would.
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
TOLD = "UPDATE tracked SET told = true WHERE conversation_id = %s AND token = %s RETURNING 1"


def ended(tx: Transaction, now: datetime, limit: int) -> tuple[Ended, ...]:
    """Return tracked conversations that ended and that nobody has in hand, each with a new token; only reads."""
    names = [name for (name,) in tx.execute(_OPEN, now)]
    if not names:
        return ()
    found = reading.outlines(tx, names)
    worked = reading.worked(tx, found.values())
    outcomes = ((name, rules.outcome(found[name], worked)) for name in names)
    return tuple(
        Ended(conversation_id=name, outcome=outcome, token=new_id())
        for name, outcome in outcomes
        if outcome != "pending"
    )[:limit]


def claim_notifications(tx: Transaction, several: Sequence[Ended], lease: timedelta) -> tuple[Ended, ...]:
    """Take those of them that are to be told still, for so long; what is taken already by the same token stays so."""
    now = tx.now
    # By name, so that two notifiers wait for one another, if at all, and not in a circle.
    answers = [tx.execute(_TAKE, each.token, now + lease, each.conversation_id, now, each.token) for each in several]
    return tuple(each for each, answer in zip(several, answers, strict=True) if answer.fetchone() is not None)
