"""Tell one event's whole life, from the decision log: the document of `prloom why --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prloom.engine.views import search, trail
from prloom.engine.views.trail import Happened
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.decision import State
from prloom.model.event import Event
from prloom.model.record import Json, Record
from prloom.storage.paths import RepositoryPaths


class ActionStep(Record, frozen=True, kw_only=True):
    """An action: queued, retrying, delivered or failed, and where it is to be seen."""

    id: str
    state: str
    url: str | None


class Step(Record, frozen=True, kw_only=True):
    """One thing that was decided about the event: when, at which step of its life, by whom, what and why."""

    ts: str
    stage: str
    by: str
    verdict: str
    reason: str | None
    duration_ms: int | None
    actions: tuple[ActionStep, ...]


class Why(Record, frozen=True, kw_only=True):
    """The document."""

    event: Mapping[str, Json]
    state: State
    steps: tuple[Step, ...]


class Life(NamedTuple):
    """An event's life: where it stands, and all that happened to it. `earlier` are older events of the same URL."""

    plan: str
    event: Event
    came_at: str
    state: State
    happened: tuple[Happened, ...]
    earlier: tuple[str, ...] = ()


def find(repository: RepositoryPaths, named: str, *, plan: str | None = None) -> Life:
    """Return the life of the event of this id or URL, or of the one that caused the action or reply of this id or URL.

    Raises PrloomError where there is none, with the nearest ids, or where several plans have one.
    """
    found = search.plans_with(repository, named, plan=plan)
    if not found:
        raise PrloomError(search.nothing(repository, named))
    if len(found) > 1:
        plans = ", ".join(each.plan or "the repository's own" for each in found)
        raise PrloomError(f"{named} is in several plans: {plans}; choose one with --plan")
    one = found[0]
    return trail_of(repository, one)


def trail_of(repository: RepositoryPaths, found: search.Found) -> Life:
    """Return the life of an event that was found."""
    followed = trail.follow(repository, found.plan, found.event_ids[-1])
    return Life(
        plan=found.plan,
        event=followed.event,
        came_at=followed.came_at,
        state=followed.state,
        happened=followed.happened,
        earlier=found.event_ids[:-1],
    )


def document(life: Life) -> Why:
    """Return what is told to programs."""
    event = {**record.to_wire(life.event), "plan": life.plan}
    return Why(event=event, state=life.state, steps=tuple(_step(each) for each in life.happened))


def _step(happened: Happened) -> Step:
    return Step(
        ts=happened.ts,
        stage=happened.stage,
        by=happened.by,
        verdict=happened.verdict,
        reason=happened.reason or (f"run {happened.run}" if happened.run else None),
        duration_ms=happened.duration_ms,
        actions=tuple(ActionStep(id=each.id, state=each.state, url=each.url) for each in happened.actions),
    )
