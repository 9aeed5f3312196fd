"""Carry out on all plans what other commands ask for; what a plan cannot do now waits until it can."""

from __future__ import annotations

from prloom.core import requests
from prloom.engine.board import Board
from prloom.engine.operator import control
from prloom.engine.operator.control import Asked, Control
from prloom.engine.plan import intake
from prloom.engine.plan.desk import Desk
from prloom.engine.plan.intake import Sign
from prloom.errors import PrloomError

BATCHES = 5
"""Decisions by which one plan takes in events for requests in one tick, so that its backlog holds up no other plan."""


def run(box: Control, board: Board, sign: Sign) -> bool:
    """Carry out what has been asked for since the last time, and what waits; return whether a poll is wanted."""
    asked = box.read(board.clock())
    unusable: frozenset[str] = frozenset()
    if any(each.request.verb != "poll" for each in asked):
        board.look_at_all()
        unusable = frozenset(desk.id for desk in board.all() if not _catch_up(desk, board, sign))
    owed = [(each, _carried_out(each, board, unusable)) for each in asked]
    box.settle(each._replace(plans=plans) for each, plans in owed if plans)
    return any(each.request.verb == "poll" for each in asked)


def _catch_up(desk: Desk, board: Board, sign: Sign) -> bool:
    """Take in what stands in a plan's journal, for a request may be about an event that came just before it.

    Return False where the plan cannot be used now, or has more than one tick takes in.
    """
    if desk.plan.blocked or desk.resting(board.clock()):
        return False
    try:
        desk.reopen()
        return not all(intake.take_in(desk, sign) for _ in range(BATCHES))
    except PrloomError as error:
        desk.trouble(str(error))
        return False


def _carried_out(asked: Asked, board: Board, unusable: frozenset[str]) -> frozenset[str]:
    """Return the plans that the request is still owed to: it may be about them, and they could not be used."""
    if asked.request.verb == "poll":
        return frozenset()
    missing = set(asked.request.ids)
    owed = set(board.unreadable)
    for desk in board.all():
        if asked.plans is not None and desk.id not in asked.plans:
            continue
        if desk.id in unusable or not desk.usable:
            owed.add(desk.id)
            continue
        try:
            known = requests.concerned(asked.request, desk.id, desk.ledger.state)
            control.carry_out(asked.request, (desk,))
            missing -= known
        except PrloomError as error:
            desk.trouble(str(error))
            owed.add(desk.id)
    owed = owed if asked.plans is None else owed & asked.plans
    return frozenset(owed) if missing or asked.request.states else frozenset()
