"""What became of events that a plugin was shown: marks, waits, actions, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prloom.api import Action, Deferral, Event, InlineComment, Payload
from prloom.model.action import Comment
from prloom.model.decision import Decision


@dataclass(frozen=True)
class Fate:
    """What became of one event, last of all.

    `verdict` is handled, deferred, passed (an agent's turn), superseded, parked or dropped.
    """

    verdict: str
    by: str
    reason: str | None = None
    deferral: Deferral | None = None


@dataclass(frozen=True)
class Fault:
    """A hook that failed: the message, where in the plugin's own code, and the exception."""

    hook: str
    event_ids: tuple[str, ...]
    message: str
    frames: tuple[str, ...] = ()
    error: Exception | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Shown:
    """What the plugin did with the events that it was shown. `fates` has each event that it changed, by id."""

    fates: Mapping[str, Fate] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    faults: tuple[Fault, ...] = ()
    log: tuple[str, ...] = ()

    def __getitem__(self, event: Event | str) -> Fate:
        """Return what became of an event."""
        return self.fates[event if isinstance(event, str) else event.id]

    @property
    def handled(self) -> tuple[str, ...]:
        """The ids of the events that were handled."""
        return self._of("handled")

    @property
    def passed(self) -> tuple[str, ...]:
        """The ids of the events that were left to the agent."""
        return self._of("passed")

    @property
    def deferred(self) -> Mapping[str, Deferral]:
        """The waits that were begun or went on, by event."""
        return {name: fate.deferral for name, fate in self.fates.items() if fate.deferral is not None}

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """What the actions are to do."""
        return tuple(action.payload for action in self.actions)

    @property
    def comments(self) -> tuple[str, ...]:
        """The texts of the comments, in the conversation or on a line."""
        return tuple(payload.message for payload in self.payloads if isinstance(payload, Comment | InlineComment))

    def _of(self, verdict: str) -> tuple[str, ...]:
        return tuple(name for name, fate in self.fates.items() if fate.verdict == verdict)


def summarize(decisions: Sequence[Decision], faults: Sequence[Fault] = (), log: Sequence[str] = ()) -> Shown:
    """Return what became of the events by these decisions."""
    fates: dict[str, Fate] = {}
    for decision in decisions:
        for change in decision.changes:
            if change.state == "triaged":
                verdict = "passed"
            else:
                verdict = change.state
            if change.state == "pending":
                fates.pop(change.event_id, None)
            else:
                wait = None
                if change.deferral is not None:
                    wait = Deferral.of(change.deferral)
                fates[change.event_id] = Fate(verdict, decision.by, change.reason, wait)
    actions = tuple(action for decision in decisions for action in decision.actions)
    return Shown(fates, actions, tuple(faults), tuple(log))
