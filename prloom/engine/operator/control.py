"""Requests of other commands to the dispatcher: written by them, carried out by it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

import msgspec

from prloom.core import acknowledgements, requests
from prloom.core.requests import OPERATOR, OperatorRequest
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import ROTATE_AT, EventStore
from prloom.model import record
from prloom.model.event import Event
from prloom.model.position import Cursor
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_FILE = "control.json"
PATIENCE = timedelta(days=1)
"""How long a request waits for a plan that cannot be used."""


def ask(local: SafeDir, request: OperatorRequest, now: datetime) -> Cursor:
    """Append a request to `prloom/.local/control.jsonl`; the dispatcher carries it out, now or when it starts.

    Return a place behind it.
    """
    journal = Journal(local, paths.CONTROL)
    entries.append(journal, (requests.to_event(request, record.iso(now)),), now)
    return journal.end()


def was_read(local: SafeDir, asked: Cursor) -> bool:
    """Whether the dispatcher has read, and carried out, what stands before a place."""
    told = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE).peek().value or {}
    return _cursor(told.get("cursor")) >= asked


def request_id(now: datetime) -> str:
    """Return a new request's id."""
    return f"cli-{now:%Y%m%dT%H%M%S%f}-{os.getpid()}-{os.urandom(3).hex()}"


class RequestedPlan(Protocol):
    """A plan that a request may be about; as little of one as that takes, for other commands carry out requests too."""

    @property
    def id(self) -> str:
        """The plan's id."""

    @property
    def event_store(self) -> EventStore:
        """The plan's bus."""


class PendingRequest(NamedTuple):
    """A request that is to be carried out: by these plans, or by all where none are named; read first at `since`."""

    request: OperatorRequest
    since: datetime
    plans: frozenset[str] | None = None


class Control:
    """The dispatcher's reading of `control.jsonl`.

    Requests are carried out before that is written down: a crash between the two carries them out once more, which
    changes nothing, for an event that was retried, vouched for or dropped is no longer in the state it was in. What a
    plan could not carry out waits until it can.
    """

    def __init__(self, local: SafeDir) -> None:
        self._journal = Journal(local, paths.CONTROL)
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE)
        self._told = self._document.load().value or {}
        self._cursor = self._read_to = _cursor(self._told.get("cursor"))

    def read(self, now: datetime) -> tuple[PendingRequest, ...]:
        """Return what is to be carried out: what waits for a plan, and what is new.

        What has waited for a day is given up: its plan has been of no use for so long.
        """
        batch = self._journal.read(self._cursor)
        self._read_to = batch.cursor
        events = [entries.event(entry.line) for entry in batch.entries]
        found = [requests.from_event(event) for event in events if event is not None]
        new = [PendingRequest(request, now) for request in found if request is not None]
        waiting = [asked for asked in _waiting(self._told.get("waiting")) if not _too_old(asked, now)]
        return (*waiting, *new)

    def settle(self, left: Iterable[PendingRequest] = ()) -> None:
        """Remember that all requests that were read are carried out, but for what is left of them."""
        waiting = [
            {"request": record.to_wire(requests.to_event(each.request, record.iso(each.since))), "plans": sorted(plans)}
            for each in left
            if (plans := each.plans)
        ]
        told = {"cursor": list(self._read_to)} | ({"waiting": waiting} if waiting else {})
        if told != self._told and (waiting or self._read_to != self._cursor or "waiting" in self._told):
            self._document.save(told)
            self._told, self._cursor = told, self._read_to
        if self._cursor.offset > ROTATE_AT:
            self._journal.rotate()


def carry_out(request: OperatorRequest, plans: Iterable[RequestedPlan]) -> None:
    """Do what a request asks of these plans; events and actions that they do not have are not theirs."""
    for plan in plans:
        changes = requests.changes(request, plan.event_store.state)
        deliveries = requests.deliveries(request, plan.event_store.state)
        paused = requests.paused(request, plan.id, plan.event_store.state)
        if changes or deliveries or paused is not None:
            signs = acknowledgements.owed(changes, plan.event_store.state)
            plan.event_store.commit(
                "operator",
                OPERATOR,
                changes=changes,
                actions=signs,
                courtesies=tuple(action.id for action in signs),
                deliveries=deliveries,
                paused=paused,
                note=request.id,
            )


def _waiting(told: Json) -> Iterator[PendingRequest]:
    for each in told if isinstance(told, list) else ():
        try:
            event = record.from_wire(Event, each["request"])
            request, since = requests.from_event(event), record.moment(event.created_at or "")
            plans = frozenset(map(str, each["plans"]))
        except (msgspec.ValidationError, KeyError, TypeError, ValueError):
            continue
        if request is not None:
            yield PendingRequest(request, since, plans)


def _too_old(asked: PendingRequest, now: datetime) -> bool:
    if now - asked.since <= PATIENCE:
        return False
    log.warning("the request %s to %s is more than a day old; prloom ignores it", asked.request.id, asked.request.verb)
    return True


def _cursor(numbers: Json) -> Cursor:
    if isinstance(numbers, list) and len(numbers) == len(Cursor._fields) and all(isinstance(n, int) for n in numbers):
        return Cursor(*numbers)
    return Cursor()
