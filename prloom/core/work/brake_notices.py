"""Write the one notification of a brake that stops the work on a plan, for those who can lift it."""

from __future__ import annotations

from prloom.core.delivery import outbox, reply_sanitizer
from prloom.core.text import bounds
from prloom.core.text.shown_text import command
from prloom.model.action import Action, Comment
from prloom.model.decision import DecisionParts
from prloom.model.event import Target

OWNER = "prloom/brake"
NAMED = "the brake "
"""How the reason of a wait or a block begins that a limit of `[limits]` causes."""


def notice(parts: DecisionParts, plan_id: str, *, seq: int, target: Target) -> Action | None:
    """Return the notification of the brake that the decision `seq` is about, or None where it is about none.

    It is part of that decision, so that there is one for each time that the brake is tripped.
    """
    stop = _stop(parts, plan_id)
    if stop is None:
        return None
    reason, way_on = stop
    text = f"prloom stopped: {bounds.cut(reason)}"
    if f"`{way_on}`" not in text:
        text = f"{text}\n\nTo go on, run `{way_on}`."
    ident = outbox.action_id(f"{plan_id}/{seq}", OWNER, 0)
    return Action(id=ident, target=target, payload=Comment(reply_sanitizer.sanitize(text, to=None)))


def _stop(parts: DecisionParts, plan_id: str) -> tuple[str, str] | None:
    """Return why the work stops, and the command that lifts that; None where no limit stops it."""
    step, block = parts.get("work"), parts.get("block")
    if step is not None and step.verdict == "parked" and step.question is None:
        return step.reason or "", command("todo", plan_id, "open", step.todo_id)
    if step is not None and step.verdict == "limited" and (step.reason or "").startswith(NAMED):
        return step.reason or "", f"prloom resume {plan_id}"
    if block is not None and block.reason.startswith(NAMED):
        return block.reason, block.way_on
    return None
