"""Remove conversations that ended long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.postgres import reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from prloom.exchange.postgres.transaction import Transaction

OLD = "SELECT conversation_id FROM messages GROUP BY conversation_id HAVING min(created_at) < %s ORDER BY min(seq)"
_ITS = "(SELECT seq FROM messages WHERE conversation_id = ANY(%s::text[]))"
_LOCK = f"SELECT FROM deliveries WHERE seq IN {_ITS} FOR UPDATE"
_REMOVE = (
    f"DELETE FROM claims WHERE message IN {_ITS}",  # noqa: S608 (likewise)
    f"DELETE FROM deliveries WHERE seq IN {_ITS}",  # noqa: S608 (likewise)
    "DELETE FROM messages WHERE conversation_id = ANY(%s::text[])",
    "DELETE FROM tracked WHERE conversation_id = ANY(%s::text[])",
)


def remove(tx: Transaction, names: Sequence[str], before: datetime) -> int:
    """Remove those of the conversations that may go, and return how many messages they had; nobody publishes now."""
    tx.execute(_LOCK, list(names))  # what is being claimed is waited for, and looked at as it is then
    found = reading.outlines(tx, names)
    worked = reading.worked(tx, found.values())
    gone = [name for name, entries in found.items() if transitions.prunable(entries, worked, before)]
    for statement in _REMOVE:
        tx.execute(statement, gone)
    return sum(len(found[name]) for name in gone)
