"""Requests of other commands to the dispatcher: written by them, carried out by it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from prloom.core import requests
from prloom.core.requests import OPERATOR, Request
from prloom.engine import entries
from prloom.engine.ledger import Ledger
from prloom.model import record
from prloom.model.position import Cursor
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder
from prloom.storage.journal import Journal

_CURSOR = "control.json"


def ask(local: Folder, request: Request, now: datetime) -> None:
    """Append a request to `prloom/.local/control.jsonl`; the dispatcher carries it out, now or when it starts."""
    entries.append(Journal(local, paths.CONTROL), (requests.to_event(request, record.iso(now)),), now)


def request_id(now: datetime) -> str:
    """Return a new request's id."""
    return f"cli-{now:%Y%m%dT%H%M%S%f}-{os.getpid()}-{os.urandom(3).hex()}"


class Addressee(Protocol):
    """A plan that a request may be about; as little of one as that takes, for other commands carry out requests too."""

    @property
    def ledger(self) -> Ledger:
        """The plan's bus."""


class Control:
    """The dispatcher's reading of `control.jsonl`.

    Requests are carried out before the cursor is saved: a crash between the two carries them out once more, which
    changes nothing, for an event that was retried, vouched for or dropped is no longer in the state it was in.
    """

    def __init__(self, local: Folder) -> None:
        self._journal = Journal(local, paths.CONTROL)
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _CURSOR)
        self._cursor = _cursor(self._document)

    def read(self) -> tuple[tuple[Request, ...], Cursor]:
        """Return the requests that are new, and the cursor to settle with once they are carried out."""
        batch = self._journal.read(self._cursor)
        events = [entries.event(entry.line) for entry in batch.entries]
        found = [requests.from_event(event) for event in events if event is not None]
        return tuple(request for request in found if request is not None), batch.cursor

    def settle(self, cursor: Cursor) -> None:
        """Remember that all requests before the cursor are carried out."""
        if cursor != self._cursor:
            self._document.save({"cursor": list(cursor)})
            self._cursor = cursor


def carry_out(request: Request, plans: Iterable[Addressee]) -> None:
    """Do what a request asks of these plans; events and actions that they do not have are not theirs."""
    for plan in plans:
        changes = requests.changes(request, plan.ledger.state)
        deliveries = requests.deliveries(request, plan.ledger.state)
        if changes or deliveries:
            plan.ledger.commit("operator", OPERATOR, changes=changes, deliveries=deliveries, note=request.id)


def _cursor(document: Document) -> Cursor:
    value = document.load().value
    numbers = value.get("cursor") if value else None
    if isinstance(numbers, list) and len(numbers) == len(Cursor._fields) and all(isinstance(n, int) for n in numbers):
        return Cursor(*numbers)
    return Cursor()
