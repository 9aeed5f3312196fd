"""Write the one notification of a brake that stops the work on a plan, for those who can lift it."""

from __future__ import annotations

from prloom.core.delivery import outbox, reply_sanitizer
from prloom.core.text import bounds, reader_words
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
    reason = _stop(parts)
    if reason is None:
        return None
    text = f"prloom stopped: {bounds.cut(reader_words.without_commands(reason))}"
    if parts.get("block") is not None or _is_limited(parts):  # else the other TODOs go on
        text = f"{text}\n\n{reader_words.WAY_ON}"
    ident = outbox.action_id(f"{plan_id}/{seq}", OWNER, 0)
    return Action(id=ident, target=target, payload=Comment(reply_sanitizer.sanitize(text, to=None)))


def _stop(parts: DecisionParts) -> str | None:
    """Return why the work stops; None where no limit stops it."""
    step, block = parts.get("work"), parts.get("block")
    if step is not None and step.verdict == "parked" and step.question is None:
        return step.reason or ""
    if step is not None and _is_limited(parts):
        return step.reason or ""
    if block is not None and block.reason.startswith(NAMED):
        return block.reason
    return None


def _is_limited(parts: DecisionParts) -> bool:
    step = parts.get("work")
    return step is not None and step.verdict == "limited" and (step.reason or "").startswith(NAMED)
