"""Follow one event through the decision log of its bus, and the actions and TODOs that it caused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from prloom.engine.bus import entries, replay
from prloom.engine.bus.replay import ReplayStep
from prloom.engine.views import history, search, snapshot
from prloom.engine.views.history import CausedTodo, HistoryStep, Mentions
from prloom.errors import PrloomError
from prloom.model.decision import Change, Intake
from prloom.model.event import Author, Event
from prloom.model.kinds import State
from prloom.model.record import Cursor
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir


class EventHistory(NamedTuple):
    """An event, its state, all that happened to it, and the TODOs that it caused."""

    event: Event
    came_at: str
    state: State
    happened: tuple[HistoryStep, ...]
    todos: tuple[CausedTodo, ...] = ()


def follow(repository: RepositoryPaths, plan_id: str, event_id: str) -> EventHistory:
    """Return the history of an event of a plan; raises PrloomError where the dispatcher did not take it in."""
    bus = snapshot.open_bus(repository, plan_id)
    if bus is None:
        raise PrloomError(f"plan {plan_id} has no bus; adopt it again")
    with bus:
        # Before the log: what the dispatcher takes in meanwhile is no post of its own.
        read_to = snapshot.current_state(bus).cursor
        replayed = _EventReplay(event_id)
        for step in replay.steps(JournalReader(bus, paths.DECISIONS), replayed.mentions.is_in):
            replayed.add(step)
        return _followed(bus, replayed, read_to)


def _followed(bus: SafeDir, replayed: _EventReplay, read_to: Cursor) -> EventHistory:
    came = search.find_event(bus, replayed.event_id, replayed.intake.position if replayed.intake else None)
    if came is None and replayed.intake is None:
        raise PrloomError(f"{replayed.event_id} was never taken in; `prloom doctor` shows what is wrong with its line")
    if replayed.state is None and came is not None and not entries.is_behind(came.position, read_to):
        raise PrloomError(f"{replayed.event_id} was not taken in, because prloom posted it itself, or knew it already")
    if came is not None:
        event = came.event
    else:
        event = _without_text(replayed)
    came_at = ""
    if came is not None:
        came_at = came.ts
    return EventHistory(event, came_at, replayed.state or "pending", replayed.steps(), tuple(replayed.todos.values()))


def _without_text(replayed: _EventReplay) -> Event:
    """Return what the log still knows of an event whose line is gone."""
    intake = replayed.intake
    assert intake is not None  # noqa: S101 - the caller has looked
    if intake.author:
        author = Author(intake.author)
    else:
        author = None
    return Event(
        id=replayed.event_id, source=intake.source, type=intake.type, author=author, created_at=intake.created_at
    )


_SHOWN_STEPS = frozenset(
    ("taken", "started", "failed", "violated", "rejected", "limited", "delayed", "committed", "done", "nothing_to_do")
) | frozenset(("parked", "retried", "reopened", "removed"))
"""The steps of the work on a TODO that belong to the history of its event; `prloom why TODO-ID` has all of them."""


@dataclass
class _EventReplay:
    """What the log says of one event, as far as it was read."""

    event_id: str
    intake: Intake | None = None
    state: State | None = None
    happened: list[HistoryStep] = field(default_factory=list)
    todos: dict[str, CausedTodo] = field(default_factory=dict)
    mentions: Mentions = field(default_factory=Mentions)

    def __post_init__(self) -> None:
        self.mentions.watch(self.event_id)

    def add(self, said: ReplayStep) -> None:
        """Add what a decision did to the event."""
        decision = said.decision
        if said.recalled is not None and self.state is None:
            self._recall(said, said.recalled)
        for change in said.effective:
            if change.event_id == self.event_id:
                self.state, self.intake = change.state, self.intake or change.intake
        for todo in decision.todos:
            if self.event_id in todo.event_ids:
                self.todos[todo.id] = CausedTodo(id=todo.id, title=todo.title)
                self.mentions.watch(todo.id)
        steps = [self._changed(change, said) for change in decision.changes if change.event_id == self.event_id]
        steps += self._of_todos(said)
        caused = tuple(
            action.id for action in decision.actions if self.event_id in search.answered_events(decision, action)
        )
        if caused and not steps:
            steps = [_caused(said)]
        if caused:
            steps[-1] = steps[-1]._replace(actions=self.mentions.queue(caused))
        self.happened += [*steps, *self.mentions.deliveries(said)]

    def steps(self) -> tuple[HistoryStep, ...]:
        """Return all that happened."""
        return self.mentions.with_actions_now(self.happened)

    def _changed(self, change: Change, said: ReplayStep) -> HistoryStep:
        return history.happened(said, change.verdict)._replace(
            reason=change.reason, deferral=change.deferral, by=_by(change, said), run=said.decision.run
        )

    def _of_todos(self, said: ReplayStep) -> list[HistoryStep]:
        """Return what a decision did to the TODOs that the event caused."""
        decision, before = said.decision, dict(self.todos)
        history.follow_todos(self.todos, said)
        steps = []
        work = decision.work
        if work is not None and work.todo_id in before and work.verdict in _SHOWN_STEPS:
            steps.append(history.worked(said, work))
        for ended, verdict in ((decision.todos_done, "done"), (decision.todos_dropped, "taken out")):
            moved = [self.todos[todo_id] for todo_id in ended if todo_id in before]
            moved = [todo for todo in moved if todo.state != before[todo.id].state]
            steps += [history.happened(said, verdict)._replace(reason=todo.title) for todo in moved]
        return steps

    def _recall(self, said: ReplayStep, state: DispatchState) -> None:
        """Take up an open event from a snapshot, where the segments before it were taken away."""
        event = state.open.get(self.event_id)
        if event is None:
            return
        self.state = event.state
        self.intake = event.intake
        reason = event.reason or f"what came before is not in the log any more; it was {event.state} by then"
        self.happened.append(history.happened(said, event.state)._replace(reason=reason, deferral=event.deferral))


def _by(change: Change, said: ReplayStep) -> str:
    """Return what decided; where an event passes on, that is the plugin that let it pass."""
    return change.plugin or said.decision.by


def _caused(said: ReplayStep) -> HistoryStep:
    """Return a step that did nothing to the event but cause actions."""
    if said.decision.stage == "todo":
        return history.happened(said, "resolved")._replace(reason="its TODO has ended")
    return history.happened(said, "acted")
