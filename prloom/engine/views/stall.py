"""Notice that something is open and nothing has moved for long: no decision was taken, and nothing goes on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from prloom.core.text.shown_text import command
from prloom.engine.bus import plans
from prloom.engine.views import runtime_status
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.status_schema import PlanStatus, StatusDocument
from prloom.model import record
from prloom.model.record import Timestamp
from prloom.storage import dispatcher_files, file_stamp, paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_AT_WORK = frozenset({"active", "review"})
"""The statuses of plans in which prloom goes on by itself."""


class Movement(NamedTuple):
    """When something last moved, and after which time without it a person is told."""

    last: datetime
    stall_after: timedelta


def read(repository: RepositoryPaths, local: SafeDir, status: StatusDocument) -> Movement | None:
    """Return when something last moved; None where nothing is open, or no dispatcher ever ran.

    What moves is written to the decision log, and the time of the last write is that of its file. Without a dispatcher,
    what came in since counts too. One that was started just now has not had its time yet.
    """
    stall_after = runtime_status.stall_after(local)
    if stall_after is None or not open_items(status.plans):
        return None
    moments = [datetime.fromtimestamp(0, UTC)]
    names: tuple[tuple[str, ...], ...] = ((paths.BUS, paths.DECISIONS), (paths.BUS, paths.EVENTS), (paths.PLAN_TEXT,))
    owner = dispatcher_files.owner(local)
    if owner is not None and owner.alive:
        names = names[:1]
        moments += filter(None, [record.read_time(owner.started_at)])
    roots = [repository.root, *(repository.worktree(plan_id) for plan_id in plans.ids(repository))]
    changed = [file_stamp.changed_at(root.joinpath(*paths.LOCAL, *name)) for root in roots for name in names]
    return Movement(max(filter(None, [*moments, *changed])), stall_after)


def need(status: StatusDocument, movement: Movement | None, *, is_working: bool, now: datetime) -> Need | None:
    """Return what a person is told of a stall, or None."""
    if movement is None or is_working or now - movement.last < movement.stall_after:
        return None
    found = open_items(status.plans)
    if not found:
        return None
    text = f"nothing has moved, and this is open: {', '.join(found)}"
    commands: tuple[str, ...] = (command("log", "--since", "1d"), command("doctor"))
    if not status.dispatcher.running:
        text, commands = f"{text}; no dispatcher runs", (command("start"),)
    return Need(
        key="stalled//", kind="stalled", plan=None, text=text, commands=commands, since=Timestamp.of(movement.last)
    )


def open_items(shown: Iterable[PlanStatus]) -> list[str]:
    """Return how much is open that does not wait for a person: TODOs, events and actions."""
    todos = events = actions = 0
    for plan in shown:
        if plan.status not in _AT_WORK:
            continue
        events += plan.events.pending + len(plan.events.deferred)
        actions += plan.actions.queued
        if plan.block is None and not plan.blocked and not plan.todos.proposed and plan.work is not False:
            todos += max(plan.todos.total - plan.todos.done - plan.todos.blocked, 0)
    counts = {"TODO": todos, "event": events, "action": actions}
    return [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count]
