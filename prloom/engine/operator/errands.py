"""Carry out on all plans what other commands ask for; what a plan cannot do now waits until it can."""

from __future__ import annotations

from prloom.engine.board import Board
from prloom.engine.operator import control
from prloom.engine.operator.control import Asked, Control
from prloom.engine.plan import intake
from prloom.engine.plan.desk import Desk
from prloom.engine.plan.intake import Sign
from prloom.errors import PrloomError


def run(box: Control, board: Board, sign: Sign) -> bool:
    """Carry out what has been asked for since the last time, and what waits; return whether a poll is wanted."""
    asked = box.read(board.clock())
    if asked:
        board.look_at_all()
    owed = [(each, _carried_out(each, board, sign)) for each in asked]
    box.settle(each._replace(plans=plans) for each, plans in owed if plans)
    return any(each.request.verb == "poll" for each in asked)


def _carried_out(asked: Asked, board: Board, sign: Sign) -> frozenset[str]:
    """Return the plans that the request is still owed to: it may be about them, and they could not be used."""
    if asked.request.verb == "poll":
        return frozenset()
    missing = set(asked.request.ids)
    owed = set(board.unreadable)
    for desk in board.all():
        if asked.plans is not None and desk.id not in asked.plans:
            continue
        try:
            if desk.plan.blocked or desk.resting(board.clock()):
                owed.add(desk.id)
            else:
                missing -= _serve(asked, desk, sign)
        except PrloomError as error:
            desk.trouble(str(error))
            owed.add(desk.id)
    owed = owed if asked.plans is None else owed & asked.plans
    return frozenset(owed) if missing or asked.request.states else frozenset()


def _serve(asked: Asked, desk: Desk, sign: Sign) -> frozenset[str]:
    """Do what is asked of one plan, and return which of the ids are its own."""
    desk.reopen()
    while intake.take_in(desk, sign):  # the request may be about an event that came just before it
        pass
    known = control.has(asked.request, desk.ledger.state)
    control.carry_out(asked.request, (desk,))
    return known
