"""Build the history of one event from the decision log: the document of `prloom why --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from prloom.core.text import shown_text
from prloom.core.work import progress
from prloom.core.work.progress import Progress
from prloom.engine.bus import plans
from prloom.engine.views import event_history, runtime_status, search, snapshot
from prloom.engine.views.event_history import EventHistory
from prloom.engine.views.history import CausedTodo, HistoryStep
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.kinds import State
from prloom.model.record import Json, Record, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


class ActionStep(Record, frozen=True, kw_only=True):
    """An action: queued, retrying, delivered or failed, and its URL."""

    id: str
    state: str
    url: str | None


class WhyStep(Record, frozen=True, kw_only=True):
    """One thing that was decided about an event or a TODO: when, at which step of its life, by whom, what and why.

    A step of the work has the `todo`, and what it has of the number of the `attempt`, the `run`, and the `commit`; that
    of a failed check has the end of its `output`.
    """

    ts: Timestamp
    stage: str
    by: str
    verdict: str
    reason: str | None
    duration_ms: int | None
    actions: tuple[ActionStep, ...]
    todo: str | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    run: str | UnsetType = UNSET
    commit: str | UnsetType = UNSET
    output: str | UnsetType = UNSET


class Now(Record, frozen=True, kw_only=True):
    """What is happening with a pending event; see `prloom.core.work.progress`."""

    kind: str
    by: str | None
    run: str | None
    hook: str | None
    since: Timestamp | None
    reason: str | None
    until: Timestamp | UnsetType = UNSET


class Why(Record, frozen=True, kw_only=True):
    """The document."""

    event: Mapping[str, Json]
    state: State
    steps: tuple[WhyStep, ...]
    now: Now | UnsetType = UNSET
    todos: tuple[CausedTodo, ...] | UnsetType = UNSET


class EventLife(NamedTuple):
    """The history of an event: its state, and all that happened to it. `earlier` are older events of the same URL."""

    plan: str
    event: Event
    came_at: str
    state: State
    happened: tuple[HistoryStep, ...]
    earlier: tuple[str, ...] = ()
    now: Progress | None = None
    todos: tuple[CausedTodo, ...] = ()


def find(repository: RepositoryPaths, named: str, *, plan: str | None = None) -> EventLife:
    """Return the history of the event of this id or URL, or of the one that caused the action of this id or URL.

    Raises PrloomError where there is none, with the nearest ids, or where several plans have one.
    """
    found = search.find(repository, named, plan=plan)
    if not found:
        raise PrloomError(search.not_found_message(repository, named))
    if len(found) > 1:
        choices = shown_text.any_to_run([("why", named, ("--plan", each.plan)) for each in found])
        raise PrloomError(f"{named} is in several plans; choose one: {choices}")
    one = found[0]
    return life_of(repository, one)


def life_of(repository: RepositoryPaths, found: search.SearchHits) -> EventLife:
    """Return the history of an event that was found."""
    followed = event_history.follow(repository, found.plan, found.event_ids[-1])
    return EventLife(
        plan=found.plan,
        event=followed.event,
        came_at=followed.came_at,
        state=followed.state,
        happened=followed.happened,
        earlier=found.event_ids[:-1],
        now=_now(repository, found, followed) if followed.state == "pending" else None,
        todos=followed.todos,
    )


def _now(repository: RepositoryPaths, found: search.SearchHits, followed: EventHistory) -> Progress:
    """Return what is happening with a pending event."""
    local = SafeDir.open(repository.root, *paths.LOCAL)
    work, error = None, _plan_error(repository, found.plan)
    if local is not None:
        with local:
            if runtime_status.dispatcher(local).running:
                work = runtime_status.work(local)
            else:
                work = None
            error = error or runtime_status.unopened(local, ()).get(found.plan)
    bus = snapshot.open_bus(repository, found.plan)
    state = DispatchState()
    if bus is not None:
        with bus:
            state = snapshot.current_state(bus)
    now = progress.of_pending(found.event_ids[-1], found.plan, state, work=work, plan_error=error)
    started = [each.ts for each in followed.happened if now.run is not None and each.run == now.run]
    if started and now.since is None:
        return replace(now, since=started[0])
    return now


def _plan_error(repository: RepositoryPaths, plan_id: str) -> str | None:
    """Return the error that keeps the dispatcher from working on a plan, if the dispatcher could record it."""
    if not plan_id:
        return None
    local = SafeDir.open(repository.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return None
    try:
        with local:
            return plans.load(local).last_error
    except PrloomError as error:
        return str(error)


def document(life: EventLife) -> Why:
    """Return the document for `--json`."""
    event = {**record.to_wire(life.event), "plan": life.plan}
    now: Now | UnsetType = UNSET
    if life.now is not None:
        now = Now(**{**asdict(life.now), "until": life.now.until or UNSET})
    steps = tuple(step(each) for each in life.happened)
    return Why(event=event, state=life.state, steps=steps, now=now, todos=life.todos or UNSET)


def step(happened: HistoryStep) -> WhyStep:
    """Return a step as `--json` shows it."""
    return WhyStep(
        ts=happened.ts,
        stage=happened.stage,
        by=happened.by,
        verdict=happened.verdict,
        reason=happened.reason or (f"run {happened.run}" if happened.run else None),
        duration_ms=happened.duration_ms,
        actions=tuple(ActionStep(id=each.id, state=each.state, url=each.url) for each in happened.actions),
        todo=happened.todo or UNSET,
        attempt=happened.attempt or UNSET,
        run=UNSET if happened.todo is None else happened.run or UNSET,
        commit=happened.commit or UNSET,
        output=happened.output or UNSET,
    )
