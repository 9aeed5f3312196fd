"""One plan as the dispatcher would have it, in memory: its events and their states, its stores, its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Unpack

from msgspec.structs import replace

from prloom.api import Event, Json, iso
from prloom.core import admission, bounds, projection
from prloom.core.trust import LEVELS
from prloom.model.decision import Change, Decision, DecisionParts, Scope
from prloom.model.hook import Writes
from prloom.model.position import START, Position
from prloom.model.state import DispatchState, OpenEvent

_TRUSTED = LEVELS.index("write")


class Values:
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

    def __init__(self, plan_id: str, shared: Values, text: str = "") -> None:
        self.id = plan_id
        self.text = text
        self.state = DispatchState()
        self.alone: set[str] = set()
        self.events: dict[str, Event] = {}
        self.decisions: list[Decision] = []
        self.stores: Mapping[Scope, Values] = {"plan": Values(), "global": shared}

    @property
    def open(self) -> Mapping[str, OpenEvent]:
        """The events that are not done."""
        return self.state.open

    def take_in(self, events: Sequence[Event], now: datetime) -> None:
        """Take in events as if they had just been polled; raises ValueError for an id that came before."""
        changes: list[Change] = []
        coming: list[str] = []
        for event in events:
            if event.id in self.events:
                raise ValueError(
                    f"event {event.id} was shown before; use each id once, and advance() to show deferred events again"
                )
            older = admission.superseded(event, self.open, coming)
            came_in = admission.intake(event, Position(1, len(self.events)))
            verdict = "admitted"
            if _is_stranger(event):
                verdict = "vouched"
            if older:
                changes += [older]
            else:
                changes += []
            changes.append(Change(event_id=event.id, verdict=verdict, state="pending", intake=came_in))
            coming.append(event.id)
            self.events[event.id] = event
        self.commit("intake", "prloom", now, changes=tuple(changes))

    def commit(self, stage: str, by: str, now: datetime, **parts: Unpack[DecisionParts]) -> None:
        """Apply a decision; `parts` says what it changes."""
        decision = bounds.decision(Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts))
        places = {action.id: Position(1, 0) for action in decision.actions}
        self.state = projection.fold(self.state, decision, at=iso(now), end=START, outbox=places, tail=START)
        self.decisions.append(decision)

    def write(self, writes: Sequence[Writes]) -> None:
        """Make a hook's state writes."""
        for each in writes:
            self.stores[each.scope].apply(each)

    def forget_actions(self) -> None:
        """Take the actions for delivered."""
        self.state = replace(self.state, queue={})


def _is_stranger(event: Event) -> bool:
    """Whether the author is known not to be trusted; that the event is shown means that somebody vouched for it."""
    if event.author and not event.author.bot:
        trust = event.author.trust
    else:
        trust = None
    return trust in LEVELS and LEVELS.index(trust) < _TRUSTED
