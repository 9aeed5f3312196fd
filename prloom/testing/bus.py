"""Keep a plan in memory as the dispatcher keeps it on disk, and offer what a hook may request while a test runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Unpack

from msgspec.structs import replace

from prloom.api import Event, Json
from prloom.core.events import admission, projection
from prloom.core.text import bounds
from prloom.core.waits import wake
from prloom.errors import ExtensionError
from prloom.model.decision import Change, Decision, DecisionParts, Intake, Scope
from prloom.model.hook import Writes
from prloom.model.kinds import TRUST_LEVELS, Verdict
from prloom.model.record import START, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent

AnswerAgent = Callable[[str], str]
"""Plays the agent: it gets the prompt, and returns the agent's final message."""

_TRUSTED = TRUST_LEVELS.index("write")


class PluginState:
    """One of a plugin's stores."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}

    def apply(self, writes: Writes) -> None:
        """Make the writes."""
        for key in writes.deleted:
            self.values.pop(key, None)
        self.values.update(writes.values)


class InMemoryBus:
    """A plan's bus. What it decides is folded as the dispatcher folds its decision log."""

    def __init__(self, plan_id: str, shared: PluginState, text: str = "") -> None:
        self.id = plan_id
        self.text = text
        self.state = DispatchState()
        self.alone: set[str] = set()
        self.events: dict[str, Event] = {}
        self.decisions: list[Decision] = []
        self.stores: Mapping[Scope, PluginState] = {"plan": PluginState(), "global": shared}

    @property
    def open(self) -> Mapping[str, OpenEvent]:
        """The events that are not done."""
        return self.state.open

    def take_in(self, events: Sequence[Event], now: datetime) -> None:
        """Take in events as if they had just been polled; raises ValueError for an id that came before."""
        changes: list[Change] = []
        coming: dict[str, Intake] = {}
        for event in events:
            if event.id in self.events:
                raise ValueError(
                    f"event {event.id} was shown before; use each id once, and advance() to show deferred events again"
                )
            intake = admission.intake(event, Position(1, len(self.events)))
            verdict: Verdict = "admitted"
            if _is_untrusted(event):
                verdict = "vouched"
            changes += admission.superseded(event, self.open, coming)
            changes.append(Change(event_id=event.id, verdict=verdict, state="pending", intake=intake))
            coming[event.id] = intake
            self.events[event.id] = event
        self.commit("intake", "prloom", now, changes=tuple(changes))

    def commit(self, stage: str, by: str, now: datetime, **parts: Unpack[DecisionParts]) -> None:
        """Apply a decision; `parts` says what it changes."""
        changes = parts.get("changes", ())
        arrived = wake.arrivals(changes, self.open, lambda event_id, _: self.events[event_id])
        parts["changes"] = (*changes, *wake.by_arrivals(self.open, arrived))
        decision = bounds.decision(Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts))
        outbox = {action.id: Position(1, 0) for action in decision.actions}
        self.state = projection.fold(self.state, decision, at=Timestamp.of(now), end=START, outbox=outbox, tail=START)
        self.decisions.append(decision)

    def write(self, writes: Sequence[Writes]) -> None:
        """Make a hook's state writes."""
        for each in writes:
            self.stores[each.scope].apply(each)

    def forget_actions(self) -> None:
        """Treat the actions as delivered."""
        self.state = replace(self.state, queue={})


def _is_untrusted(event: Event) -> bool:
    """Whether the author is known not to be trusted; the event is shown as if a trusted person had approved it."""
    if event.author is None or event.author.bot:
        return False
    trust = event.author.trust
    return trust in TRUST_LEVELS and TRUST_LEVELS.index(trust) < _TRUSTED


class FakeServices:
    """Implements `prloom.api.context.Services` for one plan of a test."""

    def __init__(self, events: Mapping[str, Event], plans: Mapping[str, str], agent: AnswerAgent | None) -> None:
        self._events = events
        self._plans = plans
        self._agent = agent

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Return the answer of the test's agent."""
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
