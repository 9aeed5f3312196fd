"""Find in the decision logs alone what a plugin wrote to its stores, and what was taken in."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from prloom.engine.bus import entries, plans
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.errors import PrloomError
from prloom.model.decision import Scope, StateWrite
from prloom.model.position import Position
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)


def writes(bus: SafeDir, scope: Scope, plugin: str) -> tuple[StateWrite, ...]:
    """Return a plugin's writes in one scope, from all segments of a bus's log, in the order of the log.

    Where versions begin anew, somebody had taken the file away so that the plugin begins anew: what was before is void.
    """
    found: list[StateWrite] = []
    for write in _all(JournalReader(bus, paths.DECISIONS), plugin):
        if write.scope == scope:
            if found and write.version <= found[-1].version:
                found.clear()
            found.append(write)
    return tuple(found)


def taken_in(bus: SafeDir) -> Iterator[tuple[str, Position]]:
    """Yield every event that a bus's log says was taken in, with the place where its line stood."""
    for entry in JournalReader(bus, paths.DECISIONS).containing(b'"intake":'):
        decision = entries.decision(entry.line)
        for change in () if decision is None else decision.changes:
            if change.intake is not None:
                yield change.event_id, change.intake.position


def everywhere(repository: RepositoryPaths, guard: WorktreeGuard, plugin: str) -> Iterator[StateWrite]:
    """Yield a plugin's writes to the store that all plans share, from the logs of all plans and of the repository."""
    for plan_id in ("", *plans.ids(repository)):
        try:
            bus = _bus(repository, guard, plan_id)
        except PrloomError as error:
            log.warning("what %s wrote for all plans from plan %s cannot be read: %s", plugin, plan_id, error)
            continue
        if bus is not None:
            with bus:
                yield from writes(bus, "global", plugin)


def _bus(repository: RepositoryPaths, guard: WorktreeGuard, plan_id: str) -> SafeDir | None:
    if not plan_id:
        return SafeDir.open(repository.root, *paths.LOCAL, paths.BUS)
    worktree = repository.worktree(plan_id)
    problem = guard.problem(worktree)
    if problem is not None:
        raise PrloomError(problem)
    return SafeDir.open(worktree, *paths.LOCAL, paths.BUS)


def _all(decisions: JournalReader, plugin: str) -> Iterator[StateWrite]:
    for entry in decisions.containing(b'"plugin":' + msgspec.json.encode(plugin)):
        decision = entries.decision(entry.line)
        if decision is not None:
            yield from (write for write in decision.writes if write.plugin == plugin)
