"""Send a daemon the events that it subscribed to, in order, without ever waiting for it elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from prloom.core.plugins.event_queue import EventQueue
from prloom.extensions import jsonrpc
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import DaemonClient
from prloom.extensions.jsonrpc import Notification
from prloom.model.activity import ActivityEvent

ON_EVENT = "on_event"
EVENTS_DROPPED = "events_dropped"
_BATCH = 100
_PAUSE = 0.2
"""Seconds after events could not be sent."""


class EventSender:
    """The events that wait for one daemon; `running`: it takes some. `delivered` counts those it got."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.running = False
        self._changed = changed
        self.delivered = 0
        self._queue = EventQueue()
        self._added = asyncio.Event()

    @property
    def dropped(self) -> int:
        """How many events were not delivered."""
        return self._queue.total_dropped

    def add(self, line: bytes) -> None:
        """Add an event for the daemon; while it does not run, the event is dropped and counted."""
        if not self.running:
            self._queue.drop()
            return
        self._queue.add(line)
        self._added.set()

    def open(self) -> None:
        """Take events from now on: the daemon runs."""
        self.running = True

    def close(self) -> None:
        """Take no more events, and drop what waits: the daemon does not run."""
        self.running = False
        self._queue.clear()

    async def send_all(self, client: DaemonClient) -> None:
        """Send what is added, until this is cancelled."""
        while True:
            await self._added.wait()
            self._added.clear()
            while self._queue.waiting:
                await self._send_batch(client)

    async def _send_batch(self, client: DaemonClient) -> None:
        dropped, events = self._queue.take(_BATCH)
        lines: Sequence[bytes] = events
        if dropped:
            lines = (jsonrpc.encode(Notification(EVENTS_DROPPED, {"count": dropped})), *events)
        try:
            await client.send(lines)
        except CallError:
            self._queue.restore(dropped)
            self._queue.drop(len(events))
            await asyncio.sleep(_PAUSE)
        except asyncio.CancelledError:
            self._queue.drop(len(events))
            raise
        else:
            self.delivered += len(events)
        self._changed()


def encode(event: ActivityEvent) -> bytes:
    """Return the notification of an event as a line."""
    params = {
        "event_type": event.type,
        "event_data": event.data,
        "timestamp": event.timestamp,
        "id": event.id,
        "seq": event.seq,
        "plan_id": event.plan_id,
        "run_id": event.run_id,
        "parent_id": event.parent_id,
    }
    return msgspec.json.encode({"jsonrpc": "2.0", "method": ON_EVENT, "params": params}) + b"\n"
