"""What a hook may ask for while a test shows it events: the agent is played, the events are those that were shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from prloom.api import Event
from prloom.errors import ExtensionError

Answer = Callable[[str], str]
"""Plays the agent: it gets the prompt, and returns the agent's final message."""


class Playing:
    """Implements `prloom.api.context.Services` for one plan of a test."""

    def __init__(self, events: Mapping[str, Event], plans: Mapping[str, str], agent: Answer | None) -> None:
        self._events = events
        self._plans = plans
        self._agent = agent

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Return what the test answers."""
        if self._agent is None:
            raise ExtensionError("this test has no agent; add one with harness(…, agent=lambda prompt: …)")
        return self._agent(prompt)

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        """Return events that were shown on this plan, and the id to go on from."""
        if since_id is not None and since_id not in self._events:
            raise ExtensionError(f"read_events: this plan has no event {since_id!r} to continue from")
        everything = list(self._events.values())
        if since_id is None:
            begin = 0
        else:
            begin = list(self._events).index(since_id) + 1
        found: list[Event] = []
        last = since_id
        for event in everything[begin:]:
            if len(found) >= limit:
                break
            last = event.id
            if types is None or event.type in types:
                found.append(event)
        return tuple(found), last

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan of the test."""
        if plan_id not in self._plans:
            raise ExtensionError(f"there is no plan {plan_id!r}")
        return self._plans[plan_id]
