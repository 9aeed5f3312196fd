"""Do what is safe to do twice again, when the connection was lost and nobody knows whether it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prloom.exchange.errors import OutcomeUnknownError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

TIMES = 3


def retry_idempotent(act: Callable[[], R]) -> R:
    """Return what `act` returns; it is done up to three times where its outcome stays unknown.

    Whatever is wrong with the store afterwards, the outcome of what was done before stays unknown.
    """
    unknown = None
    for _ in range(TIMES):
        try:
            return act()
        except OutcomeUnknownError as error:
            unknown = error
        except StoreError as error:
            if unknown is None:
                raise
            raise OutcomeUnknownError(f"{unknown} (now: {error})") from error
    assert unknown is not None  # noqa: S101 (it was tried once at least)
    raise unknown
