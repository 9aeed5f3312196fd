"""Give each activity event to those who have subscribed to its type, in the order in which it was written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Final

from prloom import errors
from prloom.model import kinds
from prloom.model.activity import ActivityEvent

log = logging.getLogger(__name__)

Subscriber = Callable[[ActivityEvent], None]

_SUBSCRIBABLE: Final = frozenset[str](kinds.ACTIVITY_TYPES)


class Publisher:
    """Publishes activity events within this process; for one thread, that of the event loop.

    A subscriber is called at once and must not wait for anything. What it raises is logged, and the others get the
    event all the same.
    """

    def __init__(self) -> None:
        self._subscribers: dict[str, dict[object, Subscriber]] = {}

    def subscribe(self, types: Collection[str], subscriber: Subscriber) -> Callable[[], None]:
        """Have a subscriber called with each event of these types, until the function that is returned is called.

        Raises ValueError for a type that does not exist, and for UNKNOWN, to which nobody can subscribe.
        """
        for each in types:
            if each not in _SUBSCRIBABLE:
                known = ", ".join(kinds.ACTIVITY_TYPES)
                raise ValueError(f"there is no activity event {each!r} to subscribe to; name some of {known}")
        key = object()
        for each in types:
            self._subscribers.setdefault(each, {})[key] = subscriber

        def unsubscribe() -> None:
            for each in types:
                self._subscribers[each].pop(key, None)

        return unsubscribe

    def publish(self, event: ActivityEvent) -> None:
        """Call the subscribers of the event's type, in the order in which they subscribed."""
        for subscriber in tuple(self._subscribers.get(event.type, {}).values()):
            try:
                subscriber(event)
            except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
                errors.log_failure(log, error, f"a subscriber to {event.type} did not get event {event.id}")
