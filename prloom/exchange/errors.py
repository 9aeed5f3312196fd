"""What can go wrong at an exchange, a class of its own only where a caller reacts differently."""

from prloom.errors import PrloomError


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
