"""Make the ids of the TODOs that people write into a plan."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

_DIGITS = 8


def for_plan(plan_id: str, now: str) -> Callable[[int, str], str]:
    """Return what gives each TODO of a plan an id, by its position and title; the time keeps it from coming again."""

    def new_id(number: int, title: str) -> str:
        of = "\0".join((plan_id, now, str(number), title))
        return f"t-{sha256(of.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"

    return new_id
