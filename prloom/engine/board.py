"""All that one repository has open: its plans' desks, its own bus, and what the dispatcher tells others of itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from prloom.engine import history, plans
from prloom.engine.desk import Desk
from prloom.engine.guard import Guard
from prloom.engine.ledger import Clock
from prloom.engine.rules import Rules, rules
from prloom.engine.stores import Stores
from prloom.errors import ConfigError, PrloomError
from prloom.model import record
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.disk import REAL, Disk
from prloom.storage.document import Document
from prloom.storage.folder import Folder
from prloom.storage.owner import DispatcherLock
from prloom.storage.paths import RepositoryPaths

log = logging.getLogger(__name__)

REPOSITORY = ""
"""The id under which the repository-wide bus stands among the plans."""


class Board:
    """The desks of a repository. Opening it takes the repository's lock; a second dispatcher is told who has it."""

    def __init__(self, repository: RepositoryPaths, general: Rules, clock: Clock, *, disk: Disk = REAL) -> None:
        self.paths = repository
        self.clock = clock
        self._disk = disk
        self.local = Folder.make(repository.root, *paths.LOCAL, disk=disk)
        self._lock = DispatcherLock(self.local)
        self._lock.acquire()
        self.desks: dict[str, Desk] = {}
        self.unreadable: dict[str, str] = {}
        self._guard = Guard(repository.root)
        everywhere = partial(history.everywhere, repository, self._guard)
        self._shared = Stores(self.local.make_sub(paths.PLUGIN_STATE_GLOBAL), "global", everywhere)
        plan = Plan(id=REPOSITORY, branch="", title="the repository as a whole")
        self.repository = self._desk(plan, self.local, general)
        self._published: tuple[Any, Any, Any] = (None, None, None)
        self._state = self.local.make_sub(paths.BUS, paths.BUS_STATE)

    def all(self) -> Iterator[Desk]:
        """Yield the plans' desks and the repository's own."""
        yield from self.desks.values()
        yield self.repository

    def take_up(self, general: Rules) -> None:
        """Open the desks of new plans and close those of plans that are gone; one that cannot be opened waits."""
        present = plans.ids(self.paths)
        for plan_id in self.desks.keys() - set(present):
            self.desks.pop(plan_id).close()
        fresh = [plan_id for plan_id in present if plan_id not in self.desks]
        self.unreadable = {plan_id: why for plan_id, why in self.unreadable.items() if plan_id in fresh}
        for plan_id in fresh:
            try:
                self.desks[plan_id] = self._open(plan_id, general)
                self.unreadable.pop(plan_id, None)
            except PrloomError as error:
                if self.unreadable.get(plan_id) != str(error):
                    log.warning("plan %s cannot be worked on: %s", plan_id, error)
                self.unreadable[plan_id] = str(error)
        if fresh:
            self._shared.settle()

    def watch_over(self) -> None:
        """Block the plans whose commit brings files of prloom's; take up again those whose commit no longer does."""
        for desk in self.desks.values():
            try:
                desk.block(self._guard.problem(desk.worktree))
            except PrloomError as error:
                desk.trouble(str(error))

    def beat(self) -> None:
        """Tell that the dispatcher is alive and ticking."""
        self._lock.touch()

    def publish(self, plugins: list[dict[str, Any]], bridges: list[dict[str, Any]], now: datetime) -> None:
        """Tell `prloom status` of the plugins, the bridges and the plans that could not be opened, if that is new."""
        if plugins != self._published[0]:
            Document(self._state, paths.PLUGINS).save({"plugins": plugins, "at": record.iso(now)})
        if bridges != self._published[1]:
            Document(self._state, paths.BRIDGES).save({"bridges": bridges, "at": record.iso(now)})
        if self.unreadable != self._published[2]:
            Document(self._state, paths.PLANS).save({"unreadable": self.unreadable, "at": record.iso(now)})
        self._published = (plugins, bridges, dict(self.unreadable))

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan; raises PrloomError where there is none of that id."""
        if plan_id not in self.desks:
            raise PrloomError(f"there is no plan {plan_id!r}; the plans are {', '.join(self.desks) or 'none'}")
        return self.desks[plan_id].text.read()

    def close(self) -> None:
        """Let go of everything, the lock last."""
        for desk in self.desks.values():
            desk.close()
        self._lock.release()

    def _open(self, plan_id: str, general: Rules) -> Desk:
        worktree = self.paths.worktree(plan_id)
        problem = self._guard.problem(worktree)
        if problem is not None:
            raise PrloomError(problem)
        local = Folder.open(worktree, *paths.LOCAL, disk=self._disk)
        if local is None:
            raise PrloomError(f"there is no {worktree.joinpath(*paths.LOCAL)}; adopt the pull request again")
        plan = plans.load(local)
        if plan.id != plan_id:
            raise PrloomError(f"{local.where(paths.PLAN_STATE)} is of plan {plan.id!r}; adopt the pull request again")
        return self._desk(plan, local, _for_preset(plan, general))

    def _desk(self, plan: Plan, local: Folder, of: Rules) -> Desk:
        worktree = self.paths.worktree(plan.id) if plan.id else self.paths.root
        return Desk(
            plan,
            repo_root=self.paths.root,
            worktree=worktree,
            local=local,
            shared=self._shared,
            rules=of,
            clock=self.clock,
        )


def _for_preset(plan: Plan, general: Rules) -> Rules:
    try:
        return rules(general.config.for_preset(plan.preset)) if plan.preset else general
    except ConfigError as error:
        raise ConfigError(f"plan {plan.id}: {error}") from error
