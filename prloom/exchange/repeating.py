"""Do what is safe to do twice again, when the connection was lost and nobody knows whether it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prloom.exchange.errors import OutcomeUnknownError

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

TIMES = 3


def surely(act: Callable[[], R]) -> R:
    """Return what `act` returns; it is done up to three times where its outcome stays unknown."""
    for _ in range(TIMES - 1):
        try:
            return act()
        except OutcomeUnknownError:
            continue
    return act()
