"""The errors of an exchange, a class each where a caller reacts differently, and the retry of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

_TIMES = 3


class ExchangeError(PrloomError):
    """The exchange cannot do what it was asked; nothing was changed."""


class UnknownMessageError(ExchangeError):
    """There is no such message, or it was pruned."""


class KeyTakenError(ExchangeError):
    """The idempotency key belongs to a message with another body."""


class ClaimOverError(ExchangeError):
    """The claim is no longer its holder's (expired, cancelled or settled otherwise): drop the work, publish nothing."""


class StoreError(ExchangeError):
    """The store cannot be used as it is: it is no exchange, of a newer schema, or not to be reached."""


class StoreBusyError(StoreError):
    """It was not one's turn in time; nothing was changed, and trying again later is right."""


class OutcomeUnknownError(StoreError):
    """The connection was lost while a change was made, which may stand or not: do the very same again.

    Publishing the same draft, or with the same key, gives the same message; settling a claim the same way twice gives
    the same reply.
    """


def retry_idempotent(act: Callable[[], R]) -> R:
    """Return what `act` returns; it is done up to three times where its outcome stays unknown.

    Whatever is wrong with the store afterwards, the outcome of what was done before stays unknown.
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
