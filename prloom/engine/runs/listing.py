"""List agent runs: those of the log, and those of the worktrees that are not in it, because they go on or are older."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from prloom.core.reports import costs
from prloom.core.reports.costs import CostGroup
from prloom.core.text.naming import printable
from prloom.engine.bus import plans
from prloom.engine.runs import records
from prloom.errors import PrloomError
from prloom.model.agent_names import AGENT_NAMES
from prloom.model.kinds import CHECK
from prloom.model.record import Record, Timestamp
from prloom.model.run import RunRecord
from prloom.storage import paths, run_log
from prloom.storage.paths import RepositoryPaths

_LOGGED = timedelta(days=30)
"""How far back the log is read for the newest runs of plans: a quiet plan must not cost all of it."""


class Runs(Record, frozen=True, kw_only=True):
    """The document of `prloom runs --json`: the oldest run first."""

    runs: tuple[RunRecord, ...]


class Costs(Record, frozen=True, kw_only=True):
    """The document of `prloom costs --json`: each run is in exactly one group."""

    since: Timestamp | None
    groups: tuple[CostGroup, ...]


def listed(
    where: RepositoryPaths,
    now: datetime,
    *,
    plan_id: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> tuple[RunRecord, ...]:
    """Return the runs of all plans or of one, the oldest first; with a limit only the newest."""
    found: dict[str, RunRecord] = {}
    for run in run_log.newest_first(where.root, since):
        if plan_id in (None, run.plan):
            found[run.id] = run
        if limit is not None and len(found) >= limit:
            break
    oldest = ""
    if since is not None:
        oldest = records.prefix(since)
    if limit is not None and len(found) >= limit:
        oldest = max(oldest, min(found))
    for folder, owner in _folders(where, plan_id, oldest):
        if folder.name not in found:
            found[folder.name] = records.build(folder, owner, now)
    ordered = [found[run_id] for run_id in sorted(found)]
    if limit is None:
        return tuple(ordered)
    return tuple(ordered[-limit:])


def newest(
    where: RepositoryPaths, now: datetime, plan_ids: Collection[str], limit: int
) -> Mapping[str, Sequence[RunRecord]]:
    """Return the newest runs of each of these plans, the newest first; the log is read once for all of them.

    It is read no further back than `_LOGGED`; an older run is listed while its folder is there.
    """
    found: dict[str, dict[str, RunRecord]] = {plan_id: {} for plan_id in plan_ids}
    lacking = set(plan_ids)
    for run in run_log.newest_first(where.root, now - _LOGGED):
        if run.plan in lacking:
            found[run.plan][run.id] = run
            if len(found[run.plan]) >= limit:
                lacking.discard(run.plan)
        if not lacking:
            break
    for plan_id, runs in found.items():
        for folder, owner in itertools.islice(_folders(where, plan_id, ""), limit):
            if folder.name not in runs:
                runs[folder.name] = records.build(folder, owner, now)
    return {plan_id: [runs[run] for run in sorted(runs, reverse=True)[:limit]] for plan_id, runs in found.items()}


def spent(
    where: RepositoryPaths, now: datetime, *, plan_id: str | None = None, since: datetime | None = None
) -> tuple[RunRecord, ...]:
    """Return the runs of agents, which cost something; a check of the operator's is a run without an agent."""
    return tuple(run for run in listed(where, now, plan_id=plan_id, since=since) if run.agent in AGENT_NAMES)


def costs_of(runs: tuple[RunRecord, ...], since: datetime | None) -> Costs:
    """Return the document of `prloom costs --json` for these runs."""
    grouped = costs.groups(runs, costs.key)
    since_text = None
    if since is not None:
        since_text = Timestamp.of(since)
    return Costs(since=since_text, groups=tuple(costs.total(members, key) for key, members in grouped.items()))


def find(where: RepositoryPaths, run_id: str) -> tuple[Path, str]:
    """Return the folder of a run and the id of its plan; raise PrloomError where there is none."""
    if records.is_run_id(run_id):
        for plan_id in plans.ids(where):
            folder = _home(where, plan_id) / run_id
            if folder.is_dir() and not folder.is_symlink():
                return folder, plan_id
    raise PrloomError(f"no run {printable(run_id)} in the worktrees; `prloom runs` lists the runs there are")


def latest(where: RepositoryPaths, plan_id: str) -> Path | None:
    """Return the folder of a plan's newest run of an agent, and not of a check; None if it has none."""
    runs = (folder for folder, _ in _folders(where, plan_id, ""))
    return next((folder for folder in runs if records.stage(folder.name) != CHECK), None)


def _folders(where: RepositoryPaths, plan_id: str | None, oldest: str) -> Iterator[tuple[Path, str]]:
    """Yield the folders of the runs from an id on, and their plans; of each plan the newest first."""
    owners = plans.ids(where)
    if plan_id is not None:
        owners = (plan_id,)
    for owner in owners:
        home = _home(where, owner)
        try:
            names = os.listdir(home)  # noqa: PTH208 - their names are enough
        except OSError:
            continue
        for name in sorted(names, reverse=True):
            if name < oldest:
                break
            if records.is_run_id(name):
                yield home / name, owner


def _home(where: RepositoryPaths, plan_id: str) -> Path:
    return where.worktree(plan_id).joinpath(*paths.LOCAL, paths.RUNS)
