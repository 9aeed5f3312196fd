"""List every event there ever was, with what became of it: the rows of `prloom events --json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from prloom.core import trust
from prloom.engine.bus import entries, plans, replay
from prloom.engine.bus.entries import ReceivedEvent
from prloom.engine.bus.replay import ReplayStep
from prloom.engine.views import history, snapshot
from prloom.engine.views.history import CausedTodo
from prloom.engine.views.snapshot import REPOSITORY
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.decision import Change, Intake
from prloom.model.event import Event
from prloom.model.kinds import PLAN_CREATED, EventOrder, State
from prloom.model.record import START, Cursor, Record, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader


class EventRow(Record, frozen=True, kw_only=True):
    """One event: its state, by what it was decided, and why; `attempts` counts the deferrals by its last owner.

    `todos` are those that it caused; left out where there are none.
    """

    id: str
    plan: str
    type: str
    author: str | None
    title: str
    url: str | None
    state: State
    reason: str | None
    by: str | None
    attempts: int
    created_at: str | None
    updated_at: str
    todos: tuple[CausedTodo, ...] | UnsetType = UNSET


class ListedEvent(NamedTuple):
    """A row, when the event came in, and for people the first line of what it says."""

    row: EventRow
    gist: str
    came_at: datetime


class EventFilter(NamedTuple):
    """Which events to list: each condition that is given must hold; of those events, the newest `limit`.

    prloom's own notices are among them with `own`, or where their `type` is wanted. In the order "age", it is the
    `limit` that have been as they are for the longest time.
    """

    state: str | None = None
    type: str | None = None
    author: str | None = None
    since: datetime | None = None
    limit: int | None = None
    sort: EventOrder = "came"
    own: bool = False

    def accepts(self, row: EventRow) -> bool:
        """Return whether a row meets all conditions; an event whose time cannot be read is never too old."""
        if row.type == PLAN_CREATED and not (self.own or self.type == PLAN_CREATED):
            return False
        if self.state not in {None, row.state} or self.type not in {None, row.type}:
            return False
        if self.author is not None and not (row.author and trust.named(row.author, [self.author])):
            return False
        return self.since is None or _moment(row.updated_at) >= self.since


ALL = EventFilter(own=True)


class EventListing(NamedTuple):
    """The events of the plans that could be read, and what is wrong with the others."""

    listed: tuple[ListedEvent, ...]
    errors: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[EventRow, ...]:
        """The rows alone."""
        return tuple(each.row for each in self.listed)


@dataclass
class _Life:
    """What the decision log says of one event, as far as it was read."""

    intake: Intake
    state: State
    reason: str | None
    by: str | None
    attempts: int
    updated_at: Timestamp
    came_at: Timestamp


@dataclass
class _Log:
    """The result of reading a decision log: each event by its id, and how far the journal of events is taken in.

    `todos` are all TODOs by their ids, `caused` the ids of those that each event caused.
    """

    lives: dict[str, _Life]
    cursor: Cursor = START
    todos: dict[str, CausedTodo] = field(default_factory=dict)
    caused: dict[str, list[str]] = field(default_factory=dict)

    def todos_of(self, event_id: str) -> tuple[CausedTodo, ...]:
        """Return the TODOs that an event caused."""
        return tuple(self.todos[todo_id] for todo_id in self.caused.get(event_id, ()))


def every(repository: RepositoryPaths, wanted: EventFilter = ALL, *, plan: str | None = None) -> EventListing:
    """Return the wanted events of all plans, or of one, in the order that is wanted; in "came", the newest is last."""
    found: list[ListedEvent] = []
    errors: list[str] = []
    for plan_id in (*plans.ids(repository), REPOSITORY) if plan is None else (plan,):
        try:
            found += of_plan(repository, plan_id)
        except PrloomError as error:
            errors.append(f"{f'plan {plan_id}' if plan_id else 'the repository'}: {error}")
    chosen = _ordered([each for each in found if wanted.accepts(each.row)], wanted)
    return EventListing(tuple(chosen), tuple(errors))


def _ordered(found: list[ListedEvent], wanted: EventFilter) -> list[ListedEvent]:
    match wanted.sort:
        case "age":
            found.sort(key=lambda each: _moment(each.row.updated_at))
            return found[: wanted.limit]
        case "came":
            found.sort(key=lambda each: each.came_at)
            if wanted.limit is None:
                return found
            return found[-wanted.limit :]


def of_plan(repository: RepositoryPaths, plan_id: str) -> tuple[ListedEvent, ...]:
    """Return the events of one plan; "" is the repository as a whole. Raises StorageError."""
    bus = snapshot.open_bus(repository, plan_id)
    if bus is None:
        return ()
    with bus:
        log = _read_log(JournalReader(bus, paths.DECISIONS))
        return tuple(_rows(plan_id, log, entries.received_events(JournalReader(bus, paths.EVENTS).scan())))


def _read_log(decisions: JournalReader) -> _Log:
    log = _Log({})
    for step in replay.steps(decisions):
        if step.recalled is not None:
            _start_from(log, step.recalled)
        for change in step.effective:
            _apply(log.lives, change, step)
        for todo in step.decision.todos:
            log.todos.setdefault(todo.id, CausedTodo(id=todo.id, title=todo.title))
            for event_id in todo.event_ids:
                log.caused.setdefault(event_id, []).append(todo.id)
        history.follow_todos(log.todos, step)
        log.cursor = step.decision.cursor or log.cursor
    return log


def _start_from(log: _Log, state: DispatchState) -> None:
    """Take up the open events of a snapshot: the segments before it may have been taken away."""
    log.cursor = state.cursor
    for event in state.open.values():
        if event.deferral:
            attempts = event.deferral.attempts
        else:
            attempts = 0
        log.lives.setdefault(
            event.id, _Life(event.intake, event.state, event.reason, event.by, attempts, event.since, event.since)
        )


def _apply(lives: dict[str, _Life], change: Change, step: ReplayStep) -> None:
    """Write down where an event is after a change that took effect."""
    life = lives.get(change.event_id)
    if life is None:
        assert change.intake is not None  # noqa: S101 - else it would have been open before, and listed
        life = lives[change.event_id] = _Life(change.intake, change.state, None, None, 0, step.made_at, step.made_at)
    wait = change.deferral
    life.state, life.reason, life.updated_at = change.state, change.reason, step.made_at
    if wait is not None:
        life.by = wait.owner
    else:
        life.by = step.decision.by
    if wait is not None:
        life.attempts = wait.attempts


def _rows(plan_id: str, log: _Log, came: Iterator[ReceivedEvent]) -> Iterator[ListedEvent]:
    """Yield the events in the order of their lines; last those whose line cannot be read any more."""
    rest = dict(log.lives)
    fresh: set[str] = set()
    for each in came:
        life = rest.pop(each.event.id, None)
        known = each.event.id in log.lives or each.event.id in fresh
        if life is not None:
            yield _row(plan_id, each.event.id, life, each, log)
        elif not known and entries.is_behind(each.position, log.cursor):  # else it is a post of prloom's own
            fresh.add(each.event.id)
            yield _untaken(plan_id, each)
    for event_id, life in rest.items():
        yield _row(plan_id, event_id, life, None, log)


def _row(plan_id: str, event_id: str, life: _Life, came: ReceivedEvent | None, log: _Log) -> ListedEvent:
    if came is not None:
        event = came.event
    else:
        event = Event(id=event_id, source=life.intake.source, type=life.intake.type)
    row = EventRow(
        id=event_id,
        plan=plan_id,
        type=life.intake.type,
        author=life.intake.author,
        title=event.title,
        url=event.url,
        state=life.state,
        reason=life.reason,
        by=life.by,
        attempts=life.attempts,
        created_at=life.intake.created_at or (came.ts if came is not None else None),
        updated_at=str(life.updated_at),
        todos=log.todos_of(event_id) or UNSET,
    )
    return ListedEvent(row, _gist(event), life.came_at)


def _untaken(plan_id: str, came: ReceivedEvent) -> ListedEvent:
    """Return the row of an event that no dispatcher has looked at yet."""
    event = came.event
    row = EventRow(
        id=event.id,
        plan=plan_id,
        type=event.type,
        author=event.author.login if event.author else None,
        title=event.title,
        url=event.url,
        state="pending",
        reason="no dispatcher has taken it in yet",
        by=None,
        attempts=0,
        created_at=event.created_at or came.ts,
        updated_at=came.ts,
    )
    return ListedEvent(row, _gist(event), _moment(came.ts))


def _gist(event: Event) -> str:
    return event.title or event.body.strip().partition("\n")[0]


def _moment(text: str) -> datetime:
    """Return a time from a file; one that cannot be read was written by another program, and counts as the newest."""
    return record.read_time(text) or datetime.max.replace(tzinfo=UTC)
