"""Carry out at once what the operator asks for, where no dispatcher runs that would."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from typing import NamedTuple

from prloom.core.commands import requests
from prloom.core.commands.requests import OperatorRequest
from prloom.engine.bus import plans, plugin_stores
from prloom.engine.bus.event_store import Clock, Effect, EventStore
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plan_files import PlanFile, PlanStateFile
from prloom.engine.bus.plugin_stores import PluginStores
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.engine.operator import control
from prloom.engine.operator.request_reader import PendingRequest, RequestReader
from prloom.engine.views import snapshot
from prloom.engine.views.snapshot import REPOSITORY, Snapshot
from prloom.errors import AlreadyRunningError, PrloomError
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

RUNNING = "a dispatcher is running"
"""Why a request is left to the dispatcher, as a rule."""


class OfflinePlan(NamedTuple):
    """A plan's bus, opened for one request and no more."""

    id: str
    event_store: EventStore
    text: PlanFile


def carry_out(repository: RepositoryPaths, clock: Clock) -> str | None:
    """Carry out all requests that wait; return None, or why that is left to the dispatcher.

    It is the dispatcher's where one runs, where a request is about an event that has yet to be taken in, and where a
    plan cannot be opened just now.
    """
    with SafeDir.make(repository.root, *paths.LOCAL) as local:
        try:
            with DispatcherLock(local, quiet=True):
                return _carry_out(repository, local, clock)
        except AlreadyRunningError:
            return RUNNING


def _carry_out(repository: RepositoryPaths, local: SafeDir, clock: Clock) -> str | None:
    reader = RequestReader(local)
    now = clock()
    pending = reader.read(now)
    found = snapshot.every(repository)
    left = _why_left(pending, found)
    if left is not None:
        return left
    concerned = [each for each in found if any(_concerns(request, each, now) for request, *_ in pending)]
    if any(each.bus.behind for each in concerned):
        # A plugin's global writes may be spread over the logs of several plans.
        concerned = list(found)
    try:
        with _opened_plans(repository, [each.plan.id for each in concerned], clock) as opened:
            for request, _, owed in pending:
                control.carry_out(request, [plan for plan in opened if owed is None or plan.id in owed])
            for plan in opened:
                plan.event_store.save()
    except PrloomError as error:
        return str(error)
    reader.settle()
    return None


def _why_left(pending: Iterable[PendingRequest], found: Sequence[Snapshot]) -> str | None:
    """Return why the last request is better left to the dispatcher, which takes events in and waits for plans; or None.

    Requests are carried out in their order, so that it also waits for those before it.
    """
    problems = [_problem(request, found) for request, *_ in pending]
    if not any(problems):
        return None
    if problems[-1] is not None:
        return problems[-1]
    return f"it waits for an earlier request: {next(filter(None, problems))}"


def _problem(request: OperatorRequest, found: Sequence[Snapshot]) -> str | None:
    """Return why a request is better left to the dispatcher, or None."""
    missing = set(request.ids)
    for each in found:
        if missing & each.bus.untaken:
            return "it names an event that was not taken in yet"
        missing -= requests.ids_of_plan(request, each.plan.id, each.bus.state)
    unread = [each for each in found if each.error is not None]
    if missing and unread:
        return f"plan {unread[0].plan.id} cannot be read: {unread[0].error}"
    return None


def _concerns(request: OperatorRequest, of: Snapshot, now: datetime) -> bool:
    changes = requests.changes(request, of.bus.state) or requests.deliveries(request, of.bus.state)
    drafts = request.verb == "draft_edit" and not of.bus.state.queue.keys().isdisjoint(request.ids)
    return bool(changes or drafts or requests.work(request, of.plan.id, of.bus.state, now))


@contextmanager
def _opened_plans(
    repository: RepositoryPaths, plan_ids: Collection[str], clock: Clock
) -> Iterator[tuple[OfflinePlan, ...]]:
    worktree_guard = WorktreeGuard(repository.root)
    with ExitStack() as closing:
        top = closing.enter_context(SafeDir.make(repository.root, *paths.LOCAL))
        everywhere = partial(plugin_stores.global_writes, repository, worktree_guard)
        shared = PluginStores(top.make_sub(paths.PLUGIN_STATE_GLOBAL), "global", everywhere)
        opened = []
        for plan_id in plan_ids:
            local = closing.enter_context(_folder(repository, plan_id, worktree_guard))
            bus = local.make_sub(paths.BUS)
            stores = PluginStores(
                local.make_sub(paths.PLUGIN_STATE), "plan", partial(plugin_stores.writes, bus, "plan")
            )
            text = PlanFile(local)
            effects: list[Effect] = [text, stores, shared, _plan_state(local)]
            if plan_id != REPOSITORY:
                effects.append(IssuedPosts(top, plans.load(local), clock))
            opened.append(OfflinePlan(plan_id, EventStore.open(bus, clock, effects), text))
            opened[-1].event_store.plan_id = plan_id
        shared.settle()
        yield tuple(opened)


def _plan_state(local: SafeDir) -> PlanStateFile:
    return PlanStateFile(lambda edit: plans.change(local, plans.load(local), edit))


def _folder(repository: RepositoryPaths, plan_id: str, worktree_guard: WorktreeGuard) -> SafeDir:
    """Open a plan's folder as the dispatcher does: not if its branch brings files that would pass for prloom's."""
    if plan_id == REPOSITORY:
        return SafeDir.make(repository.root, *paths.LOCAL)
    worktree = repository.worktree(plan_id)
    problem = worktree_guard.problem(worktree)
    if problem:
        local = None
    else:
        local = SafeDir.open(worktree, *paths.LOCAL)
    if local is None:
        raise PrloomError(f"plan {plan_id} cannot be opened: {problem or 'its worktree is missing'}")
    return local
