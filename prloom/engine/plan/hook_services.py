"""Serve what a running hook asks of the dispatcher: agents, events of its plan, and the texts of plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from prloom.api.context import Services
from prloom.core import trust
from prloom.core.prompts import prompt_text
from prloom.core.trust import Trusted
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import ExtensionError
from prloom.model.event import Event
from prloom.model.record import Position

MOST = 1000
"""Events that one call returns at most."""

_LATEST_BYTES = 1024 * 1024
"""Bytes at the end of the bus in which the latest events are looked for."""

RunHookAgent = Callable[[PlanRuntime, str, str, "str | None", "str | None"], Awaitable[str]]
"""Runs the agent of a stage on a text, with a model, for a plugin."""


class PlanServices(Services, Protocol):
    """What the hooks of a plan may ask for."""

    def of_plugin(self, plugin: str) -> Services:
        """Return the same for the hooks of one plugin, so that the agents' runs that they ask for name it."""


class HookServices:
    """Implements `PlanServices` for one plan."""

    def __init__(
        self, runtime: PlanRuntime, *, run: RunHookAgent, read_plan: Callable[[str], str], plugin: str | None = None
    ) -> None:
        self._runtime = runtime
        self._plugin = plugin
        self._run = run
        self._read_plan = read_plan

    def of_plugin(self, plugin: str) -> HookServices:
        """Return the same for the hooks of one plugin."""
        return HookServices(self._runtime, run=self._run, read_plan=self._read_plan, plugin=plugin)

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Run the stage's agent in the plan's worktree; `files` are named to it, relative to the worktree."""
        return await self._run(self._runtime, stage, prompt_text.with_files(prompt, files), model, self._plugin)

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        """Return events of this plan after an id, oldest first, and the id to go on from.

        An event whose author is not trusted is left out, whatever became of it later: only its own showing carries the
        approval of a person.
        """
        found: list[Event] = []
        last = since_id
        for event_id, event in self.scan_events(types=types, since_id=since_id):
            if len(found) >= min(limit, MOST):
                break
            last = event_id
            if event is not None:
                found.append(event)
        return tuple(found), last

    def scan_events(self, *, types: Sequence[str] | None, since_id: str | None) -> Iterator[tuple[str, Event | None]]:
        """Yield the id of each event after another, oldest first, and the event if it is wanted and may be read.

        Whoever reads a long journal can let others have their turn between two of them.
        """
        start = None
        if since_id is not None:
            start = self._position(since_id)
        for entry in self._runtime.event_store.events.scan(start):
            event = entries.event(entry.line)
            if event is None or entry.position == start:
                continue
            wanted = types is None or event.type in types
            if wanted and self._may_be_read(event):
                yield event.id, event
            else:
                yield event.id, None

    def latest_events(self, limit: int) -> tuple[Event, ...]:
        """Return the latest events of this plan whose authors are trusted, oldest first."""
        found = (entries.event(entry.line) for entry in self._runtime.event_store.events.tail(_LATEST_BYTES))
        return tuple(event for event in found if event is not None and self._may_be_read(event))[-limit:]

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan."""
        return self._read_plan(plan_id)

    def _may_be_read(self, event: Event) -> bool:
        opened = self._runtime.event_store.state.open.get(event.id)
        if opened is not None and opened.state == "held":
            return False
        return isinstance(trust.judge(event, self._runtime.rules.trust), Trusted)

    def _position(self, event_id: str) -> Position:
        found = self._runtime.seen_ids.position(event_id)
        if found is not None:
            return found
        for entry in self._runtime.event_store.events.containing(
            msgspec.json.encode(event_id)
        ):  # perhaps not taken in yet
            event = entries.event(entry.line)
            if event is not None and event.id == event_id:
                return entry.position
        raise ExtensionError(f"read_events: this plan has no event {event_id!r} to continue from")
