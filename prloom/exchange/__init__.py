"""A durable queue of messages and claims, for any program; see docs/exchange/python.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from prloom.exchange.aio import AsyncClaimedMessage, AsyncExchange
    from prloom.exchange.claim import Claim, Delivery, MessageEntry, TopicStats
    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.errors import (
        ClaimOverError,
        ExchangeError,
        KeyTakenError,
        OutcomeUnknownError,
        StoreBusyError,
        StoreError,
        UnknownMessageError,
    )
    from prloom.exchange.exchange import Checked, Exchange
    from prloom.exchange.memory import MemoryStore
    from prloom.exchange.message import Draft, Message
    from prloom.exchange.validation import draft

_MODULES = {
    "AsyncExchange": "aio",
    "AsyncClaimedMessage": "aio",
    "Checked": "exchange",
    "Claim": "claim",
    "ClaimOverError": "errors",
    "Delivery": "claim",
    "Draft": "message",
    "MessageEntry": "claim",
    "Exchange": "exchange",
    "ExchangeError": "errors",
    "ClaimedMessage": "claimed_message",
    "KeyTakenError": "errors",
    "MemoryStore": "memory",
    "Message": "message",
    "OutcomeUnknownError": "errors",
    "StoreBusyError": "errors",
    "StoreError": "errors",
    "TopicStats": "claim",
    "UnknownMessageError": "errors",
    "draft": "validation",
}

__all__ = [
    "AsyncClaimedMessage",
    "AsyncExchange",
    "Checked",
    "Claim",
    "ClaimOverError",
    "ClaimedMessage",
    "Delivery",
    "Draft",
    "Exchange",
    "ExchangeError",
    "KeyTakenError",
    "MemoryStore",
    "Message",
    "MessageEntry",
    "OutcomeUnknownError",
    "StoreBusyError",
    "StoreError",
    "TopicStats",
    "UnknownMessageError",
    "connect",
    "connect_async",
    "draft",
]


def connect(name: str | os.PathLike[str] | None = None) -> Exchange:
    """Open an exchange: a path, a server's URL, or None for PRLOOM_EXCHANGE or this repository's; close it."""
    from prloom.exchange import store_url  # noqa: PLC0415 (each name costs its own modules only)
    from prloom.exchange.exchange import Exchange  # noqa: PLC0415 (likewise)

    return Exchange(store_url.open_store(name))


def connect_async(name: str | os.PathLike[str] | None = None) -> AsyncExchange:
    """Open an exchange for asynchronous programs, named as for `connect`; close it."""
    from prloom.exchange.aio import AsyncExchange  # noqa: PLC0415 (likewise)

    return AsyncExchange(connect(name))


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the module has)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (likewise)

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
