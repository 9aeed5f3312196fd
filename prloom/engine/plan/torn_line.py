"""Repair the last line of a plan's `events.jsonl` where its writer was killed, or forgot the newline."""

from __future__ import annotations

import logging
from datetime import timedelta

from prloom.engine.plan.runtime import PlanRuntime
from prloom.storage.reader import JournalBatch

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=5)
"""How long a last line may be without its newline before it is taken for one whose writer was killed."""


def heal(runtime: PlanRuntime, batch: JournalBatch) -> None:
    """Repair a last line that has had no newline for a while: its writer was killed, or forgot it."""
    if not batch.unfinished:
        runtime.torn_line = None
        return
    end, now = batch.cursor._replace(offset=batch.cursor.offset + batch.unfinished), runtime.clock()
    if runtime.torn_line is None or runtime.torn_line[0] != end:
        runtime.torn_line = (end, now)
        return
    age = now - runtime.torn_line[1]
    if timedelta() <= age < PATIENCE:  # a negative age: the clock was turned back
        return
    moved_to = runtime.event_store.events.heal()
    where = ""
    if moved_to:
        where = f", now in {moved_to}"
    log.warning("plan %s: events.jsonl ended in half a line%s", runtime.id, where)
    runtime.torn_line = None
