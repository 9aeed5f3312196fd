"""Keep in memory what is under way for a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from prloom.engine.bus.event_store import Clock
from prloom.model.record import Timestamp
from prloom.model.work_report import RunLimit, RunningHook


@dataclass
class InFlight:
    """What is under way for a plan. In memory only: after a crash nothing is under way.

    `event_ids` are the events that a hook, an agent or a look-up works on. `isolated` are those that are shown one by
    one because a hook failed on several at once, and `suspects` those of them that a plugin's process may have died of.
    `deliveries` are the bridges that deliver actions of this plan, each with whether those are of low priority.
    `agent_queued` says that a triage run waits for a free slot, or has one. `working` says that a TODO is worked on,
    `took` that one was begun, and `preparing` that it is prepared for a worker. `waits_for` is the setting because
    of which the next run for events or a hook has to wait, and `todo_limit` that because of which the one for a TODO
    has to. `at_forge` says that the pull request is opened or described.
    """

    clock: Clock
    event_ids: set[str] = field(default_factory=set)
    isolated: set[str] = field(default_factory=set)
    suspects: set[str] = field(default_factory=set)
    deliveries: set[tuple[str, bool]] = field(default_factory=set)
    hooks: tuple[RunningHook, ...] = ()
    agent_queued: bool = False
    waits_for: str | None = None
    todo_limit: RunLimit | None = None
    working: bool = False
    preparing: bool = False
    at_forge: bool = False
    took: bool = False

    @property
    def is_reported(self) -> bool:
        """Whether there is anything of this that `prloom status` tells of."""
        return bool(self.hooks) or self.agent_queued or bool(self.waits_for or self.todo_limit)

    @contextmanager
    def working_on(self, event_ids: Collection[str]) -> Iterator[None]:
        """Count events as under way until the block ends."""
        self.event_ids.update(event_ids)
        try:
            yield
        finally:
            self.event_ids.difference_update(event_ids)

    @contextmanager
    def waiting_for(self, setting: str | None) -> Iterator[None]:
        """Note until the block ends that the next run for a TODO waits because of a setting, if it does."""
        if setting is not None:
            self.todo_limit = RunLimit(setting=setting, since=Timestamp.of(self.clock()))
        try:
            yield
        finally:
            self.todo_limit = None

    def clear(self, event_ids: AbstractSet[str], opened: AbstractSet[str]) -> None:
        """Show events together with others again; forget also those that are not open any more."""
        self.isolated = (self.isolated - event_ids) & opened
        self.suspects = (self.suspects - event_ids) & opened
