"""Write requests of operators to `control.jsonl`, read them there, and carry them out on the plans."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from prloom.core.commands import requests
from prloom.core.commands.requests import OPERATOR, OperatorRequest
from prloom.core.events import acknowledgements
from prloom.core.plans import plan_file
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import ROTATE_AT, EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.record import Cursor, Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:  # a command that writes a request needs no plan's runtime
    from prloom.engine.plan.runtime import PlanRuntime
    from prloom.engine.plan_registry import PlanRegistry

log = logging.getLogger(__name__)

_FILE = "control.json"
PATIENCE = timedelta(days=1)
"""How long a request waits for a plan that cannot be used."""
CATCH_UP_BATCHES = 5
"""Decisions by which one plan takes in events for requests in one tick, so that its backlog holds up no other plan."""

TakeIn = Callable[["PlanRuntime"], bool]
"""Takes in the next events of a plan's bus by one decision; returns whether there were any."""


def append_request(local: SafeDir, request: OperatorRequest, now: datetime) -> Cursor:
    """Append a request to `prloom/.local/control.jsonl`; the dispatcher carries it out, now or when it starts.

    Return the journal's end behind it.
    """
    journal = Journal(local, paths.CONTROL)
    entries.append(journal, (requests.to_event(request, record.iso(now)),), now)
    return journal.end()


def was_read(local: SafeDir, end: Cursor) -> bool:
    """Return whether the dispatcher has read, and carried out, all requests up to this end of the journal."""
    saved = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE).peek().value or {}
    return _cursor(saved.get("cursor")) >= end


def request_id(now: datetime) -> str:
    """Return a new request's id."""
    return f"cli-{now:%Y%m%dT%H%M%S%f}-{os.getpid()}-{os.urandom(3).hex()}"


class RequestedPlan(Protocol):
    """The part of a plan that a request needs: the dispatcher has it, and so has a command that carries one out."""

    @property
    def id(self) -> str:
        """The plan's id."""

    @property
    def event_store(self) -> EventStore:
        """The plan's bus."""

    @property
    def text(self) -> PlanFile:
        """The plan's text."""


class PendingRequest(NamedTuple):
    """A request that is to be carried out: by these plans, or by all where none are named; read first at `since`."""

    request: OperatorRequest
    since: datetime
    plans: frozenset[str] | None = None


class RequestReader:
    """Reads the requests of `control.jsonl`, and saves which of them were carried out.

    Requests are carried out before that is saved: a crash between the two carries them out once more, which changes
    nothing, for an event that was retried, approved or dropped is no longer in the state it was in. A request that a
    plan could not carry out waits until it can.
    """

    def __init__(self, local: SafeDir) -> None:
        self._journal = Journal(local, paths.CONTROL)
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE)
        self._saved = self._document.load().value or {}
        self._cursor = self._read_to = _cursor(self._saved.get("cursor"))

    def read(self, now: datetime) -> tuple[PendingRequest, ...]:
        """Return the requests to carry out: those that wait for a plan, and the new ones.

        A request that has waited for a day is given up: its plan could not be used for so long.
        """
        batch = self._journal.read(self._cursor)
        self._read_to = batch.cursor
        events = [entries.event(entry.line) for entry in batch.entries]
        found = [requests.from_event(event) for event in events if event is not None]
        new = [PendingRequest(request, now) for request in found if request is not None]
        waiting = [each for each in _waiting(self._saved.get("waiting")) if not _too_old(each, now)]
        return (*waiting, *new)

    def settle(self, left: Iterable[PendingRequest] = ()) -> None:
        """Save that all requests that were read are carried out, except those that are left for some plans."""
        waiting = [
            {"request": record.to_wire(requests.to_event(each.request, record.iso(each.since))), "plans": sorted(plans)}
            for each in left
            if (plans := each.plans)
        ]
        value: dict[str, Json] = {"cursor": list(self._read_to)}
        if waiting:
            value["waiting"] = waiting
        is_due = bool(waiting) or self._read_to != self._cursor or "waiting" in self._saved
        if is_due and value != self._saved:
            self._document.save(value)
            self._saved, self._cursor = value, self._read_to
        if self._cursor.offset > ROTATE_AT:
            self._journal.rotate()


def carry_out(request: OperatorRequest, plans: Iterable[RequestedPlan]) -> None:
    """Carry out a request on these plans; the events and actions that they do not have are left to others."""
    for plan in plans:
        changes = requests.changes(request, plan.event_store.state)
        deliveries = requests.deliveries(request, plan.event_store.state)
        if changes or deliveries:
            signs = acknowledgements.for_approved(changes, plan.event_store.state)
            plan.event_store.commit(
                "operator",
                OPERATOR,
                changes=changes,
                actions=signs,
                courtesies=tuple(action.id for action in signs),
                deliveries=deliveries,
                note=request.id,
            )
        parts = requests.edited(request, plan.event_store.state, plan.event_store.action)
        if parts:
            parts["note"] = request.id
            plan.event_store.commit("operator", OPERATOR, **parts)
        state, ended = plan.event_store.state, plan_file.ended(plan.text.todos())
        for parts in requests.work(request, plan.id, state, plan.event_store.clock(), ended=ended):
            parts["note"] = request.id
            plan.event_store.commit("operator", OPERATOR, **parts)


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


def carry_out_all(reader: RequestReader, registry: PlanRegistry, take_in: TakeIn) -> bool:
    """Carry out all new and waiting requests on all plans; return whether one of them is for a poll."""
    pending = reader.read(registry.clock())
    unusable: frozenset[str] = frozenset()
    if any(each.request.verb != "poll" for each in pending):
        registry.check_all()
        unusable = frozenset(runtime.id for runtime in registry.all() if not _catch_up(runtime, registry, take_in))
    owed = [(each, _carry_out_where_usable(each, registry, unusable)) for each in pending]
    reader.settle(each._replace(plans=plans) for each, plans in owed if plans)
    return any(each.request.verb == "poll" for each in pending)


def _catch_up(runtime: PlanRuntime, registry: PlanRegistry, take_in: TakeIn) -> bool:
    """Take in the new events of a plan's bus, for a request may be about an event that came just before it.

    Return False if the plan cannot be used now, or has more events than one tick takes in.
    """
    if runtime.plan.blocked or runtime.failure.active(registry.clock()):
        return False
    try:
        runtime.reopen()
        return not all(take_in(runtime) for _ in range(CATCH_UP_BATCHES))
    except PrloomError as error:
        runtime.fail(str(error))
        return False


def _carry_out_where_usable(
    pending: PendingRequest, registry: PlanRegistry, unusable: frozenset[str]
) -> frozenset[str]:
    """Carry out a request; return the plans that it may be about too, but that cannot be used now."""
    if pending.request.verb == "poll":
        return frozenset()
    missing = set(pending.request.ids)
    owed = set(registry.unreadable)
    for runtime in registry.all():
        if pending.plans is not None and runtime.id not in pending.plans:
            continue
        if runtime.id in unusable or not runtime.usable:
            owed.add(runtime.id)
            continue
        try:
            known = requests.ids_of_plan(pending.request, runtime.id, runtime.event_store.state)
            carry_out(pending.request, (runtime,))
            missing -= known
        except PrloomError as error:
            runtime.fail(str(error))
            owed.add(runtime.id)
    if pending.plans is not None:
        owed = owed & pending.plans
    if missing or pending.request.states:
        return frozenset(owed)
    return frozenset()
