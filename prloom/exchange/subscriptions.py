"""Keep in memory which conversations are tracked, and which notifier reports the end of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange.claim import Ended
from prloom.exchange.message import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from prloom.exchange.claim import ConversationOutcome


class Subscriptions:
    """The tracked conversations, whose end is to be reported once."""

    def __init__(self) -> None:
        self._by_id: dict[str, _Subscription] = {}

    def __contains__(self, conversation_id: str) -> bool:
        return conversation_id in self._by_id

    def copy(self) -> Subscriptions:
        """Return these as they are now, so that a change can be undone."""
        copied = Subscriptions()
        copied._by_id = dict(self._by_id)
        return copied

    def add(self, conversation_id: str) -> None:
        """Track a conversation; one that is tracked stays as it is."""
        self._by_id.setdefault(conversation_id, _Subscription())

    def restart(self, conversation_id: str) -> None:
        """Track a conversation that continues: its next end is reported too."""
        self._by_id[conversation_id] = _Subscription()

    def forget(self, conversation_id: str) -> None:
        """Stop tracking a conversation."""
        self._by_id.pop(conversation_id, None)

    def pending(self, now: datetime) -> Iterator[str]:
        """Yield the conversations whose end no notifier has reported or claimed."""
        for conversation_id, subscription in self._by_id.items():
            if not subscription.reported and (subscription.until is None or subscription.until <= now):
                yield conversation_id

    def claim(self, conversation_id: str, outcome: ConversationOutcome, until: datetime) -> Ended:
        """Return the end of a conversation with a new token, claimed until then."""
        subscription = self._by_id[conversation_id]
        subscription.token, subscription.until = new_id(), until
        return Ended(conversation_id=conversation_id, outcome=outcome, token=subscription.token)

    def acknowledge(self, ended: Ended) -> bool:
        """Record that an end was reported; return False if another notifier has claimed it since."""
        subscription = self._by_id.get(ended.conversation_id)
        if subscription is None or subscription.token != ended.token:
            return False
        subscription.reported = True
        return True


class _Subscription:
    """A tracked conversation; the notifier with the token has claimed its end, until then."""

    def __init__(self) -> None:
        self.token = ""
        self.until: datetime | None = None
        self.reported = False
