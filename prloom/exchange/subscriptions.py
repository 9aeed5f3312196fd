"""Keep in memory which conversations are tracked, and by whom it is told that one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange.claim import Ended
from prloom.exchange.message import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from prloom.exchange.claim import Outcome


class Subscriptions:
    """The conversations of which it is told once that they have ended."""

    def __init__(self) -> None:
        self._by_id: dict[str, _Tracked] = {}

    def __contains__(self, conversation_id: str) -> bool:
        return conversation_id in self._by_id

    def copy(self) -> Subscriptions:
        """Return these as they are now, so that a change can be undone."""
        copied = Subscriptions()
        copied._by_id = dict(self._by_id)
        return copied

    def add(self, conversation_id: str) -> None:
        """Track a conversation; one that is tracked stays as it is."""
        self._by_id.setdefault(conversation_id, _Tracked())

    def restart(self, conversation_id: str) -> None:
        """Track a conversation that goes on: its next end is told too."""
        self._by_id[conversation_id] = _Tracked()

    def forget(self, conversation_id: str) -> None:
        """Track a conversation no longer."""
        self._by_id.pop(conversation_id, None)

    def untold(self, now: datetime) -> Iterator[str]:
        """Yield the conversations whose end has not been told and that nobody is telling now."""
        for conversation_id, tracked in self._by_id.items():
            if not tracked.ack_notification and (tracked.until is None or tracked.until <= now):
                yield conversation_id

    def take(self, conversation_id: str, outcome: Outcome, until: datetime) -> Ended:
        """Give the end of a conversation to one who tells it, until then."""
        tracked = self._by_id[conversation_id]
        tracked.token, tracked.until = new_id(), until
        return Ended(conversation_id=conversation_id, outcome=outcome, token=tracked.token)

    def ack_notification(self, ended: Ended) -> bool:
        """Note that an end was told; return False where it is another's to tell by now."""
        tracked = self._by_id.get(ended.conversation_id)
        if tracked is None or tracked.token != ended.token:
            return False
        tracked.ack_notification = True
        return True


class _Tracked:
    """A conversation of which it is to be told, by whoever has the token, until then."""

    def __init__(self) -> None:
        self.token = ""
        self.until: datetime | None = None
        self.ack_notification = False
