"""The errors of an exchange, a class each where a caller reacts differently, and the retry of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

_TIMES = 3


class ExchangeError(PrloomError):
    """The exchange cannot do what was requested; nothing was changed."""


class UnknownMessageError(ExchangeError):
    """There is no such message, or it was pruned."""


class KeyTakenError(ExchangeError):
    """The idempotency key belongs to a message with another body."""


class ClaimOverError(ExchangeError):
    """The claim is over (expired, cancelled or settled otherwise): discard the work, and publish nothing."""


class StoreError(ExchangeError):
    """The store cannot be used: it is no exchange, has a newer schema, or cannot be reached."""


class StoreBusyError(StoreError):
    """The store was locked or away for too long; nothing was changed, and a later try may succeed."""


class OutcomeUnknownError(StoreError):
    """The connection was lost during a change, which may have been saved or not: make the very same call again.

    Publishing the same draft, or with the same key, gives the same message; settling a claim the same way twice gives
    the same reply.
    """


def retry_idempotent(act: Callable[[], R]) -> R:
    """Return what `act` returns, calling it up to three times where its outcome stays unknown.

    If the store fails in another way after that, the outcome of the first call is unknown still.
    """
    unknown = None
    for _ in range(_TIMES):
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
