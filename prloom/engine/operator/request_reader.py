"""Read the requests of `control.jsonl`, and save which of them were carried out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from prloom.core.commands import done_requests, requests
from prloom.core.commands.done_requests import DoneRequests
from prloom.core.commands.requests import OperatorRequest
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import ROTATE_AT
from prloom.model import record
from prloom.model.event import Event
from prloom.model.record import Cursor, Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalBatch, JournalEntry
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_FILE = "control.json"
PATIENCE = timedelta(days=1)
"""How long a request waits for a plan that cannot be used."""
REPLACED = "control.jsonl was cut or replaced; prloom reads it again from its beginning, and repeats no request"
_FORGOTTEN = (
    "control.jsonl: requests that are no newer than those carried out last count as carried out: %d, the last is %s; "
    "if it was not, run the command that sent it again"
)
_SHOWN = 80


class PendingRequest(NamedTuple):
    """A request that is to be carried out: by these plans, or by all where none are named; read first at `since`."""

    request: OperatorRequest
    since: datetime
    plans: frozenset[str] | None = None


class _Progress(NamedTuple):
    """How far the file was read, the fingerprint of it up to there, and the requests that were read."""

    cursor: Cursor
    fingerprint: int | None
    done: DoneRequests


def was_read(local: SafeDir, request_id: str, sent_at: datetime) -> bool:
    """Return whether the dispatcher has read, and carried out, a request that was sent at that time."""
    saved = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE).peek().value or {}
    return done_requests.read(saved).has(request_id, record.iso(sent_at))


class RequestReader:
    """Reads the requests of `control.jsonl`, and saves which of them were carried out.

    Requests are carried out before that is saved: a crash between the two carries them out once more, which changes
    nothing, for an event that was retried, approved or dropped is no longer in the state it was in. A request that a
    plan could not carry out waits until it can. A file that was cut or replaced is read from its beginning, without the
    requests that were carried out: later, they could undo what was done since.
    """

    def __init__(self, local: SafeDir) -> None:
        self._journal = Journal(local, paths.CONTROL)
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE)
        self._saved = self._document.load().value or {}
        cursor, fingerprint = _cursor(self._saved.get("cursor")), _number(self._saved.get("fingerprint"))
        self._settled = self._read = _Progress(cursor, fingerprint, done_requests.read(self._saved))

    def read(self, now: datetime) -> tuple[PendingRequest, ...]:
        """Return the requests to carry out: those that wait for a plan, and the new ones.

        A request that has waited for a day is given up: its plan could not be used for so long.
        """
        events = [event for event in map(_event, self._new_entries()) if event is not None]
        self._read = self._read._replace(done=self._settled.done.with_events(events))
        found = [requests.from_event(event) for event in events]
        new = [PendingRequest(request, now) for request in found if request is not None]
        waiting = [each for each in _waiting(self._saved.get("waiting")) if not _too_old(each, now)]
        return (*waiting, *new)

    def settle(self, left: Iterable[PendingRequest] = ()) -> None:
        """Save that all requests that were read are carried out, except those that are left for some plans."""
        left = tuple(left)
        if self._read == self._settled and not left and "waiting" not in self._saved:
            return
        waiting = [
            {"request": record.to_wire(requests.to_event(each.request, record.iso(each.since))), "plans": sorted(plans)}
            for each in left
            if (plans := each.plans)
        ]
        value = self._value()
        if waiting:
            value["waiting"] = waiting
        is_due = bool(waiting or self._saved) or self._read.cursor != Cursor()
        if is_due and value != self._saved:
            self._document.save(value)
            self._saved = value
        self._settled = self._read
        if self._settled.cursor.offset > ROTATE_AT:
            self._journal.rotate()

    def _value(self) -> dict[str, Json]:
        cursor, fingerprint, done = self._read
        value: dict[str, Json] = {"cursor": list(cursor)}
        if fingerprint is not None:
            value["fingerprint"] = fingerprint
        if done.sent:
            value |= done.to_wire()
        return value

    def _new_entries(self) -> Iterator[JournalEntry]:
        """Yield the lines to look at: the next ones, or those of another file that were not carried out before."""
        cursor, fingerprint, _ = self._settled
        batch = self._journal.read(cursor)
        if batch.gap or not self._journal.is_unchanged(cursor, fingerprint):
            log.warning("%s", REPLACED)
            yield from self._entries_of_another_file()
            return
        if fingerprint is None and cursor.offset:  # an earlier version has saved none
            fingerprint = self._journal.fingerprint(cursor.segment, cursor.offset)
            self._settled = self._settled._replace(fingerprint=fingerprint)
        self._take(batch, fingerprint)
        yield from batch.entries

    def _entries_of_another_file(self) -> Iterator[JournalEntry]:
        start, fingerprint, done = self._journal.end()._replace(offset=0), None, self._settled.done
        forgotten: list[str] = []
        while True:
            batch = self._journal.read(start)
            self._take(batch, fingerprint)
            for entry in batch.entries:
                event = entries.event(entry.line)
                if event is None or not done.has(event.id, event.created_at or ""):
                    yield entry
                elif event.id not in done.sent:
                    forgotten.append(event.id)
            if batch.cursor == start:
                break
            start, fingerprint = batch.cursor, self._read.fingerprint
        if forgotten:
            log.warning(_FORGOTTEN, len(forgotten), forgotten[-1][:_SHOWN])

    def _take(self, batch: JournalBatch, before: int | None) -> None:
        fingerprint = batch.fingerprint
        if fingerprint is None:
            fingerprint = before
        self._read = self._read._replace(cursor=batch.cursor, fingerprint=fingerprint)
        if batch.skipped:
            log.warning("%d lines of control.jsonl are too long to be requests; run the commands again", batch.skipped)


def _event(entry: JournalEntry) -> Event | None:
    """Return the event of a request; a line that is none is logged."""
    event = entries.event(entry.line)
    if event is None or requests.from_event(event) is None:
        shown = entry.line[:_SHOWN].decode("utf-8", "replace")
        log.warning(
            "control.jsonl: prloom does not know this request and passes it over: %s; "
            "run the command that sent it again",
            shown,
        )
        return None
    return event


def _waiting(saved: Json) -> Iterator[PendingRequest]:
    if not isinstance(saved, list):
        return
    for each in saved:
        try:
            event = record.from_wire(Event, each["request"])
            request, since = requests.from_event(event), record.moment(event.created_at or "")
            plans = frozenset(map(str, each["plans"]))
        except (msgspec.ValidationError, KeyError, TypeError, ValueError):
            continue
        if request is not None:
            yield PendingRequest(request, since, plans)


def _too_old(pending: PendingRequest, now: datetime) -> bool:
    if now - pending.since <= PATIENCE:
        return False
    log.warning(
        "the request %s to %s is more than a day old; prloom ignores it", pending.request.id, pending.request.verb
    )
    return True


def _cursor(numbers: Json) -> Cursor:
    if isinstance(numbers, list) and len(numbers) == len(Cursor._fields) and all(isinstance(n, int) for n in numbers):
        return Cursor(*numbers)
    return Cursor()


def _number(saved: Json) -> int | None:
    if isinstance(saved, int):
        return saved
    return None
