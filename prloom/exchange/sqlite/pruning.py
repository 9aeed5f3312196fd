"""Remove conversations that ended long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.sqlite import reading, rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime


def old(db: sqlite3.Connection, before: datetime) -> tuple[str, ...]:
    """Return the conversations that have a message from before then, the oldest first; only reads."""
    names = db.execute(
        "SELECT conversation_id FROM messages WHERE created_at < ? GROUP BY conversation_id ORDER BY min(seq)",
        (rows.micros(before),),
    )
    return tuple(name for (name,) in names)


def remove(db: sqlite3.Connection, names: Sequence[str], before: datetime) -> int:
    """Remove those of the conversations that may go, and return how many messages they had."""
    removed = 0
    for name in names:
        entries = reading.outline(db, name)
        if entries and transitions.prunable(
            entries, reading.worked(db, [each.message.topic for each in entries]), before
        ):
            _remove(db, name)
            removed += len(entries)
    return removed


def _remove(db: sqlite3.Connection, name: str) -> None:
    its = "(SELECT seq FROM messages WHERE conversation_id = ?)"
    db.execute(f"DELETE FROM claims WHERE message IN {its}", (name,))  # noqa: S608 (a text of ours)
    db.execute(f"DELETE FROM deliveries WHERE seq IN {its}", (name,))  # noqa: S608 (likewise)
    db.execute("DELETE FROM messages WHERE conversation_id = ?", (name,))
    db.execute("DELETE FROM tracked WHERE conversation_id = ?", (name,))
