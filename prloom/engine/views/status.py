"""Say what waits in a repository, for whom, why and how long: the document of `prloom status --json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prloom.engine.views import snapshot
from prloom.engine.views.snapshot import Snapshot
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.record import Json, Record
from prloom.model.state import OpenEvent
from prloom.storage import owner, paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder
from prloom.storage.paths import RepositoryPaths

R = TypeVar("R", bound=Record)

SCHEMA_VERSION = 1
_MILLISECOND = timedelta(milliseconds=1)


class Dispatcher(Record, frozen=True, kw_only=True):
    """Whether a dispatcher runs, and when one last ticked."""

    running: bool = False
    pid: int | None = None
    last_tick_at: str | None = None


class Totals(Record, frozen=True, kw_only=True):
    """What waits in all plans together."""

    plans: int
    pending: int
    deferred: int
    held: int
    parked: int
    actions_queued: int
    actions_failed: int


class DeferredEvent(Record, frozen=True, kw_only=True):
    """An event that waits: since when anybody put it off, who did so last, why, until when; `age_ms` is the wait."""

    id: str
    type: str
    plugin: str
    reason: str
    attempts: int
    first_deferred_at: str
    deferred_until: str
    deadline: str
    age_ms: int


class HeldEvent(Record, frozen=True, kw_only=True):
    """An event whose author is not trusted."""

    id: str
    author: str | None
    reason: str | None


class ParkedEvent(Record, frozen=True, kw_only=True):
    """An event that needs a person."""

    id: str
    reason: str | None


class FailedAction(Record, frozen=True, kw_only=True):
    """An action that is not tried any more."""

    id: str
    error: str | None


class Todos(Record, frozen=True, kw_only=True):
    """How many TODOs the plan has."""

    total: int
    done: int


class Events(Record, frozen=True, kw_only=True):
    """What became of the plan's events."""

    pending: int
    handled: int
    triaged: int
    dropped: int
    superseded: int
    deferred: tuple[DeferredEvent, ...]
    held: tuple[HeldEvent, ...]
    parked: tuple[ParkedEvent, ...]


class Actions(Record, frozen=True, kw_only=True):
    """What became of the plan's actions."""

    queued: int
    delivered: int
    failed: tuple[FailedAction, ...]


class PlanStatus(Record, frozen=True, kw_only=True):
    """One plan. `last_error` is why it cannot be worked on or read, if so."""

    id: str
    title: str
    status: str
    blocked: bool
    branch: str
    pr: int | None
    worktree: str
    last_error: str | None
    todos: Todos
    events: Events
    actions: Actions


class Requests(Record, frozen=True, kw_only=True):
    """How many requests a bridge has made, and how many of them were charged against its limit."""

    total: int = 0
    charged: int = 0


class BridgeStatus(Record, frozen=True, kw_only=True):
    """A bridge as the dispatcher last knew it."""

    name: str
    last_poll_at: str | None = None
    last_ok_at: str | None = None
    error: str | None = None
    requests: Requests = Requests()


class PluginStatus(Record, frozen=True, kw_only=True):
    """A plugin as the dispatcher last knew it."""

    name: str
    source: str = ""
    loaded: bool = False
    error: str | None = None
    hooks: tuple[str, ...] = ()


class Status(Record, frozen=True, kw_only=True):
    """The document."""

    schema_version: int = SCHEMA_VERSION
    repo: str
    dispatcher: Dispatcher
    totals: Totals
    oldest_deferred_age_ms: int | None
    plans: tuple[PlanStatus, ...]
    bridges: tuple[BridgeStatus, ...]
    plugins: tuple[PluginStatus, ...]


def read(repository: RepositoryPaths, now: datetime, *, plan: str | None = None) -> Status:
    """Return the status of a repository, or of one of its plans."""
    found = snapshot.every(repository)
    shown = [each for each in found if plan in {None, each.plan.id}]
    local = Folder.open(repository.root, *paths.LOCAL)
    if local is None:
        return build(repository, tuple(plan_status(each, now) for each in shown), Dispatcher(), (), ())
    with local:
        refused = unopened(local)
        return build(
            repository,
            tuple(plan_status(each, now, refused=refused.get(each.plan.id)) for each in shown),
            dispatcher(local),
            published(local, paths.BRIDGES, "bridges", BridgeStatus),
            published(local, paths.PLUGINS, "plugins", PluginStatus),
        )


def build(
    repository: RepositoryPaths,
    plans: tuple[PlanStatus, ...],
    at_work: Dispatcher,
    bridges: tuple[BridgeStatus, ...],
    plugins: tuple[PluginStatus, ...],
) -> Status:
    """Return the document of these parts, with the totals of the plans in it."""
    ages = [event.age_ms for plan in plans for event in plan.events.deferred]
    totals = Totals(
        plans=sum(plan.id != snapshot.REPOSITORY for plan in plans),
        pending=sum(plan.events.pending for plan in plans),
        deferred=len(ages),
        held=sum(len(plan.events.held) for plan in plans),
        parked=sum(len(plan.events.parked) for plan in plans),
        actions_queued=sum(plan.actions.queued for plan in plans),
        actions_failed=sum(len(plan.actions.failed) for plan in plans),
    )
    return Status(
        repo=str(repository.root),
        dispatcher=at_work,
        totals=totals,
        oldest_deferred_age_ms=max(ages, default=None),
        plans=plans,
        bridges=bridges,
        plugins=plugins,
    )


def plan_status(of: Snapshot, now: datetime, *, refused: str | None = None) -> PlanStatus:
    """Return what is to be said of one plan; `refused` is why the dispatcher could not open it."""
    state, plan = of.bus.state, of.plan
    failed = [action for action in state.queue.values() if action.failed]
    return PlanStatus(
        id=plan.id,
        title=plan.title,
        status="paused" if state.paused and plan.status == "active" else plan.status,
        blocked=plan.blocked,
        branch=plan.branch,
        pr=plan.pr,
        worktree=str(of.worktree),
        last_error=of.error or refused or plan.last_error,
        todos=Todos(total=of.todos[0], done=of.todos[1]),
        events=_events(of, now),
        actions=Actions(
            queued=len(state.queue) - len(failed),
            delivered=state.delivered,
            failed=tuple(FailedAction(id=action.id, error=action.error) for action in failed),
        ),
    )


def _events(of: Snapshot, now: datetime) -> Events:
    opened, done = of.bus.state.open.values(), of.bus.state.done
    return Events(
        pending=len(of.bus.untaken) + sum(event.state == "pending" for event in opened),
        handled=done.get("handled", 0),
        triaged=done.get("triaged", 0),
        dropped=done.get("dropped", 0),
        superseded=done.get("superseded", 0),
        deferred=_deferred(opened, now),
        held=tuple(
            HeldEvent(id=event.id, author=event.author, reason=event.reason)
            for event in opened
            if event.state == "held"
        ),
        parked=tuple(ParkedEvent(id=event.id, reason=event.reason) for event in opened if event.state == "parked"),
    )


def _deferred(opened: Iterable[OpenEvent], now: datetime) -> tuple[DeferredEvent, ...]:
    """Return the deferred events, the longest waiting first."""
    found = []
    for event in opened:
        wait = event.deferral
        if event.state != "deferred" or wait is None:
            continue
        first = event.first_deferred_at or wait.first_deferred_at
        found.append(
            DeferredEvent(
                id=event.id,
                type=event.type,
                plugin=wait.owner,
                reason=wait.reason,
                attempts=wait.attempts,
                first_deferred_at=first,
                deferred_until=wait.deferred_until,
                deadline=wait.deadline,
                age_ms=_age(first, now),
            )
        )
    return tuple(sorted(found, key=lambda event: event.first_deferred_at))


def _age(since: str, now: datetime) -> int:
    """Return the milliseconds since a time; none since one that cannot be read or is yet to come."""
    try:
        return max(0, (now - record.moment(since)) // _MILLISECOND)
    except ValueError:
        return 0


def dispatcher(local: Folder) -> Dispatcher:
    """Return what is known of the dispatcher without asking it."""
    try:
        found = owner.owner(local)
    except StorageError:  # something else stands in the file's place: `prloom doctor` tells what
        return Dispatcher()
    if found is None:
        return Dispatcher()
    pid = found.pid if found.alive else None
    return Dispatcher(running=found.alive, pid=pid, last_tick_at=found.last_tick_at)


def published(local: Folder, name: str, key: str, shape: type[R]) -> tuple[R, ...]:
    """Return what the dispatcher last told of its bridges or plugins; nothing where none ever ran."""
    listed = _told(local, name).get(key)
    try:
        return tuple(record.from_wire(shape, each) for each in listed) if isinstance(listed, list) else ()
    except msgspec.ValidationError:
        return ()


def unopened(local: Folder) -> Mapping[str, str]:
    """Return why the dispatcher could not open a plan when it last tried, by plan."""
    told = _told(local, paths.PLANS).get("unreadable")
    return {name: why for name, why in told.items() if isinstance(why, str)} if isinstance(told, dict) else {}


def _told(local: Folder, name: str) -> Mapping[str, Json]:
    try:
        state = local.sub(paths.BUS, paths.BUS_STATE)
        if state is None:
            return {}
        with state:
            return Document(state, name).peek().value or {}
    except StorageError:  # likewise
        return {}


def timeless(status: Status) -> Status:
    """Return the document without the times that go by: where it is the same as before, there is nothing to tell."""
    plans = tuple(
        replace(
            plan,
            events=replace(plan.events, deferred=tuple(replace(event, age_ms=0) for event in plan.events.deferred)),
        )
        for plan in status.plans
    )
    bridges = tuple(replace(bridge, last_poll_at=None, last_ok_at=None) for bridge in status.bridges)
    at_work = replace(status.dispatcher, last_tick_at=None)
    return replace(status, dispatcher=at_work, oldest_deferred_age_ms=None, plans=plans, bridges=bridges)
