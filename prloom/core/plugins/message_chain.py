"""Decide how long the chain of plugins' messages is that a new message continues, so that no chain goes on for ever.

A message that nothing has caused is the first link. Hooks, activity events and runs pass on the depth of the message
that caused them, and a message that a plugin adds because of one of them is the next link. What a daemon adds it for
is not known, so whatever it was shown of any plan within the last minute counts: else two plugins could go on for ever
over two plans.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from prloom.core.plugins import request_rate

MOST: Final = 3
"""How many links a chain has at most."""


class ChainLink(NamedTuple):
    """A message, or something that one has caused: its depth, and when it was (seconds)."""

    depth: int
    at: float


def depth(shown: Iterable[ChainLink], messages: Iterable[ChainLink], now: float) -> int:
    """Return which link of a chain a new message is.

    `shown` is what the plugin has seen of any plan, `messages` are those that were added to the plan. A message
    inherits the depth of one that was added within the last minute.
    """
    caused = (link.depth + 1 for link in _recent(shown, now))
    inherited = (link.depth for link in _recent(messages, now))
    return max((1, *caused, *inherited))


def shown_depth(shown: Iterable[ChainLink], now: float) -> int:
    """Return the depth that is passed on by what a plugin does that is no message, such as an event that it emits."""
    return max((link.depth for link in _recent(shown, now)), default=0)


def retry_after_ms(shown: Iterable[ChainLink], now: float) -> int | None:
    """Return in how many milliseconds a plugin that was shown this may add a message, or None where it may now."""
    last = [link.at for link in _recent(shown, now) if link.depth >= MOST]
    if not last:
        return None
    return request_rate.wait_ms(max(last), now)


def refusal(method: str) -> str:
    """Return why a request is refused that would be the next link after the last."""
    return (
        f"{method}: a chain of plugins' messages that cause each other ends after {MOST}, and this would be one more: "
        "what the plugin was just shown comes from the last of them"
    )


def _recent(links: Iterable[ChainLink], now: float) -> list[ChainLink]:
    return [link for link in links if link.depth > 0 and now - link.at < request_rate.WINDOW]
