"""Write requests of operators to `control.jsonl`, and carry them out on the plans."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from prloom.core.commands import requests
from prloom.core.commands.requests import OPERATOR, OperatorRequest
from prloom.core.events import acknowledgements
from prloom.core.plans import plan_file
from prloom.core.work import work_requests
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.operator.request_reader import PendingRequest, RequestReader
from prloom.errors import PrloomError
from prloom.model import record
from prloom.storage import paths
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:  # a command that writes a request needs no plan's runtime
    from prloom.engine.plan.runtime import PlanRuntime
    from prloom.engine.plan_registry import PlanRegistry

log = logging.getLogger(__name__)

CATCH_UP_BATCHES = 5
"""Decisions by which one plan takes in events for requests in one tick, so that its backlog holds up no other plan."""

TakeIn = Callable[["PlanRuntime"], bool]
"""Takes in the next events of a plan's bus by one decision; returns whether there were any."""


def append_request(local: SafeDir, request: OperatorRequest, now: datetime) -> None:
    """Append a request to `prloom/.local/control.jsonl`; the dispatcher carries it out, now or when it starts."""
    entries.append(Journal(local, paths.CONTROL), (requests.to_event(request, record.iso(now)),), now)


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


def end_agent_waits(registry: PlanRegistry, agents: Collection[str]) -> None:
    """Have the plans go on that wait for these agent programs, which can be used again."""
    for runtime in registry.all():
        if not runtime.usable:
            continue  # it goes on when its own wait is over
        try:
            parts = work_requests.agents_usable(runtime.event_store.state, agents)
            if parts:
                runtime.event_store.commit("work", "prloom", **parts)
        except PrloomError as error:
            runtime.fail(str(error))


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
