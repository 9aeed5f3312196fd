"""Follow one event through the decision log of its bus, and the actions and TODOs that it caused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from prloom.engine.bus import entries, replay
from prloom.engine.bus.replay import ReplayStep
from prloom.engine.views import search, snapshot
from prloom.errors import PrloomError
from prloom.model.decision import Change, Deferral, DeliveryChange, Intake
from prloom.model.event import Author, Event
from prloom.model.kinds import State
from prloom.model.record import Cursor, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir


class ActionNow(NamedTuple):
    """An action in its present state: queued, retrying, delivered or failed."""

    id: str
    state: str = "queued"
    url: str | None = None


class HistoryStep(NamedTuple):
    """One thing that a decision did to the event; its actions in their present states.

    A delivery has `attempts`, and its action as it stood then.
    """

    ts: Timestamp
    stage: str
    by: str
    verdict: str
    reason: str | None = None
    duration_ms: int | None = None
    actions: tuple[ActionNow, ...] = ()
    deferral: Deferral | None = None
    run: str | None = None
    attempts: int | None = None
    next_try: Timestamp | None = None


class EventHistory(NamedTuple):
    """An event, its state, and all that happened to it."""

    event: Event
    came_at: str
    state: State
    happened: tuple[HistoryStep, ...]


def follow(repository: RepositoryPaths, plan_id: str, event_id: str) -> EventHistory:
    """Return the history of an event of a plan; raises PrloomError where the dispatcher did not take it in."""
    bus = snapshot.open_bus(repository, plan_id)
    if bus is None:
        raise PrloomError(f"plan {plan_id} has no bus; adopt it again")
    with bus:
        # Before the log: what the dispatcher takes in meanwhile is no post of its own.
        read_to = snapshot.current_state(bus).cursor
        trail = _Trail(event_id)
        for step in replay.steps(JournalReader(bus, paths.DECISIONS), trail.is_mentioned):
            trail.add(step)
        return _followed(bus, trail, read_to)


def _followed(bus: SafeDir, trail: _Trail, read_to: Cursor) -> EventHistory:
    came = search.find_event(bus, trail.event_id, trail.intake.position if trail.intake else None)
    if came is None and trail.intake is None:
        raise PrloomError(f"{trail.event_id} was never taken in; `prloom doctor` shows what is wrong with its line")
    if trail.state is None and came is not None and not entries.is_behind(came.position, read_to):
        raise PrloomError(f"{trail.event_id} was not taken in, because prloom posted it itself, or knew it already")
    if came is not None:
        event = came.event
    else:
        event = _without_text(trail)
    return EventHistory(event, came.ts if came is not None else "", trail.state or "pending", trail.steps())


def _without_text(trail: _Trail) -> Event:
    """Return what the log still knows of an event whose line is gone."""
    intake = trail.intake
    assert intake is not None  # noqa: S101 - the caller has looked
    if intake.author:
        author = Author(intake.author)
    else:
        author = None
    return Event(id=trail.event_id, source=intake.source, type=intake.type, author=author, created_at=intake.created_at)


@dataclass
class _Trail:
    """What the log says of one event, as far as it was read."""

    event_id: str
    intake: Intake | None = None
    state: State | None = None
    happened: list[HistoryStep] = field(default_factory=list)
    actions: dict[str, ActionNow] = field(default_factory=dict)
    todos: dict[str, str] = field(default_factory=dict)
    _marks: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._marks.append(search.needle(self.event_id))

    def is_mentioned(self, line: bytes) -> bool:
        """Whether a line can be about the event, or about what it caused."""
        return any(mark in line for mark in self._marks)

    def add(self, said: ReplayStep) -> None:
        """Add what a decision did to the event."""
        decision = said.decision
        if said.recalled is not None and self.state is None:
            self._recall(said, said.recalled)
        for change in said.effective:
            if change.event_id == self.event_id:
                self.state, self.intake = change.state, self.intake or change.intake
        caused = tuple(action.id for action in decision.actions if action.related_event_id == self.event_id)
        for todo in decision.todos:
            if self.event_id in todo.event_ids:
                self.todos[todo.id] = todo.title
                self._marks.append(search.needle(todo.id))
        steps = [self._changed(change, said) for change in decision.changes if change.event_id == self.event_id]
        steps += [self._todo(todo_id, "done", said) for todo_id in decision.todos_done if todo_id in self.todos]
        steps += [self._todo(todo_id, "taken out", said) for todo_id in decision.todos_dropped if todo_id in self.todos]
        if caused and not steps:
            steps = [_happened(said, "acted")]
        if caused:
            self._queue(caused)
            steps[-1] = steps[-1]._replace(actions=tuple(ActionNow(action_id) for action_id in caused))
        steps += [self._delivered(each, said) for each in decision.deliveries if each.action_id in self.actions]
        self.happened += steps

    def steps(self) -> tuple[HistoryStep, ...]:
        """Return all that happened; actions show what became of them by now where they were queued."""
        return tuple(each if each.attempts is not None else self._with_actions_now(each) for each in self.happened)

    def _with_actions_now(self, happened: HistoryStep) -> HistoryStep:
        return happened._replace(actions=tuple(self.actions[action.id] for action in happened.actions))

    def _queue(self, action_ids: tuple[str, ...]) -> None:
        for action_id in action_ids:
            self.actions[action_id] = ActionNow(action_id)
            self._marks.append(search.needle(action_id))

    def _changed(self, change: Change, said: ReplayStep) -> HistoryStep:
        return _happened(said, change.verdict)._replace(
            reason=change.reason, deferral=change.deferral, by=_by(change, said), run=said.decision.run
        )

    def _todo(self, todo_id: str, end: str, said: ReplayStep) -> HistoryStep:
        return _happened(said, end)._replace(reason=self.todos[todo_id])

    def _delivered(self, delivery: DeliveryChange, said: ReplayStep) -> HistoryStep:
        before = self.actions[delivery.action_id]
        now = ActionNow(delivery.action_id, delivery.state, delivery.url or before.url)
        self.actions[delivery.action_id] = now
        return _happened(said, delivery.state)._replace(
            reason=delivery.error, actions=(now,), attempts=delivery.attempts, next_try=delivery.next_try
        )

    def _recall(self, said: ReplayStep, state: DispatchState) -> None:
        """Take up an open event from a snapshot, where the segments before it were taken away."""
        event = state.open.get(self.event_id)
        if event is None:
            return
        self.state = event.state
        self.intake = Intake(
            position=event.position,
            type=event.type,
            source=event.source,
            digest=event.digest,
            author=event.author,
            created_at=event.created_at,
        )
        reason = event.reason or f"it was {event.state} when a new segment of the log was started"
        self.happened.append(_happened(said, event.state)._replace(reason=reason, deferral=event.deferral))


def _happened(said: ReplayStep, verdict: str) -> HistoryStep:
    decision = said.decision
    return HistoryStep(said.made_at, decision.stage, decision.by, verdict, duration_ms=decision.duration_ms)


def _by(change: Change, said: ReplayStep) -> str:
    """Return what decided; where an event passes on, that is the plugin that let it pass."""
    return change.plugin or said.decision.by
