"""Know which messages of plugins a plan has had, as long as the plan is there, whatever became of the dispatcher."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from prloom.core.plugins import plugin_message
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime
from prloom.storage import paths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir


class MessageIndex:
    """The ids of the messages in the journals of each plan, read from these once."""

    def __init__(self) -> None:
        self._ids: WeakKeyDictionary[PlanRuntime, set[str]] = WeakKeyDictionary()
        self._reading = asyncio.Lock()

    async def of(self, runtime: PlanRuntime) -> set[str]:
        """Return the ids of the events and actions of a plan; what is added to a plan has to be added here too."""
        async with self._reading:
            found = self._ids.get(runtime)
            if found is None:
                found = self._ids[runtime] = await asyncio.to_thread(_read, runtime.event_store.events.folder)
            return found

    def forget(self, runtime: PlanRuntime) -> None:
        """Read a plan's journals again the next time: it is not known what was written."""
        self._ids.pop(runtime, None)


def _read(bus: SafeDir) -> set[str]:
    ids = set()
    for entry in JournalReader(bus, paths.EVENTS).containing(f'"id":"{plugin_message.ID_PREFIX}'.encode()):
        event = entries.event(entry.line)
        if event is not None and plugin_message.is_message(event):
            ids.add(event.id)
    for entry in JournalReader(bus, paths.ACTIONS).scan():
        action = entries.action(entry.line)
        if action is not None:
            ids.add(action.id)
    return ids
