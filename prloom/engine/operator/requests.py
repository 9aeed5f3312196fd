"""Carry out on all plans what other commands ask for; what a plan cannot do now waits until it can."""

from __future__ import annotations

from prloom.core import requests
from prloom.engine.operator import control
from prloom.engine.operator.control import Control, PendingRequest
from prloom.engine.plan import admission
from prloom.engine.plan.admission import Sign
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError

BATCHES = 5
"""Decisions by which one plan takes in events for requests in one tick, so that its backlog holds up no other plan."""


def run(box: Control, board: PlanRegistry, sign: Sign) -> bool:
    """Carry out what has been asked for since the last time, and what waits; return whether a poll is wanted."""
    asked = box.read(board.clock())
    unusable: frozenset[str] = frozenset()
    if any(each.request.verb != "poll" for each in asked):
        board.look_at_all()
        unusable = frozenset(runtime.id for runtime in board.all() if not _catch_up(runtime, board, sign))
    owed = [(each, _carried_out(each, board, unusable)) for each in asked]
    box.settle(each._replace(plans=plans) for each, plans in owed if plans)
    return any(each.request.verb == "poll" for each in asked)


def _catch_up(runtime: PlanRuntime, board: PlanRegistry, sign: Sign) -> bool:
    """Take in what stands in a plan's journal, for a request may be about an event that came just before it.

    Return False where the plan cannot be used now, or has more than one tick takes in.
    """
    if runtime.plan.blocked or runtime.failure.active(board.clock()):
        return False
    try:
        runtime.reopen()
        return not all(admission.take_in(runtime, sign) for _ in range(BATCHES))
    except PrloomError as error:
        runtime.fail(str(error))
        return False


def _carried_out(asked: PendingRequest, board: PlanRegistry, unusable: frozenset[str]) -> frozenset[str]:
    """Return the plans that the request is still owed to: it may be about them, and they could not be used."""
    if asked.request.verb == "poll":
        return frozenset()
    missing = set(asked.request.ids)
    owed = set(board.unreadable)
    for runtime in board.all():
        if asked.plans is not None and runtime.id not in asked.plans:
            continue
        if runtime.id in unusable or not runtime.usable:
            owed.add(runtime.id)
            continue
        try:
            known = requests.concerned(asked.request, runtime.id, runtime.event_store.state)
            control.carry_out(asked.request, (runtime,))
            missing -= known
        except PrloomError as error:
            runtime.fail(str(error))
            owed.add(runtime.id)
    if asked.plans is not None:
        owed = owed & asked.plans
    if missing or asked.request.states:
        return frozenset(owed)
    return frozenset()
