"""One plan at work: its ledger, its stores, and what of it is in somebody's hands just now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from prloom.api.bridge import TrackedPlan
from prloom.core import backoff
from prloom.core.backoff import Backoff
from prloom.engine import history, plans
from prloom.engine.files import PlanFolder
from prloom.engine.known import Known
from prloom.engine.ledger import Clock, Ledger
from prloom.engine.plan_text import PlanFile
from prloom.engine.rules import Rules
from prloom.engine.stores import Stores
from prloom.model import record
from prloom.model.event import Target
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.folder import Folder

_TROUBLE = Backoff(initial=timedelta(seconds=1), maximum=timedelta(minutes=5))


class Desk:
    """A plan that the dispatcher works on.

    `busy` are the events in a hook's or an agent's hands, `alone` those that are shown one by one because a hook failed
    on them in company, and `delivering` the bridges that are at work on an action of this plan. All three are memory
    only: after a crash nobody holds anything.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        repo_root: Path,
        worktree: Path,
        local: Folder,
        shared: Stores,
        rules: Rules,
        clock: Clock,
    ) -> None:
        self.plan = plan
        self.repo_root = repo_root
        self.worktree = worktree
        self.local = local
        self.rules = rules
        self.clock = clock
        self.shared = shared
        self.text = PlanFile(local)
        own = partial(history.writes, local.make_sub(paths.BUS), "plan")
        self.stores = Stores(local.make_sub(paths.PLUGIN_STATE), "plan", own)
        self.busy: set[str] = set()
        self.alone: set[str] = set()
        self.delivering: set[str] = set()
        self.todos_seen_at: int | None = None
        self.wake = asyncio.Event()
        self.rest_until: datetime | None = None
        self._troubles = 0
        self._open()

    def _open(self) -> None:
        bus = self.local.make_sub(paths.BUS)
        self.ledger = Ledger.open(bus, self.clock, (self.text, self.stores, self.shared))
        self.known = Known(self.ledger.events, self.ledger.state.cursor)

    @property
    def id(self) -> str:
        """The plan's id."""
        return self.plan.id

    @property
    def tracked(self) -> TrackedPlan:
        """The plan as bridges see it."""
        return TrackedPlan(self.plan.id, self.plan.branch, self.worktree, PlanFolder(self.local), self.plan.pr)

    @property
    def plan_target(self) -> Target:
        """Where an answer goes that belongs to no thread: the pull request, or the local file where there is none."""
        if self.plan.pr is not None and self.plan.forge:
            return Target(self.plan.forge, {"pr": self.plan.pr})
        return Target("local", {"plan": self.plan.id, "section": "replies"})

    @property
    def change_request_ref(self) -> str | None:
        """The pull request as its forge names it."""
        return self.plan.url or (f"#{self.plan.pr}" if self.plan.pr is not None else None)

    @property
    def paused(self) -> bool:
        """Whether only commands are obeyed."""
        return self.ledger.state.paused

    @property
    def triaging(self) -> bool:
        """Whether an agent is at work on events of this plan."""
        return any(event.run for event in self.ledger.state.open.values())

    def resting(self, now: datetime) -> bool:
        """Whether the plan is left alone for a while after its files made trouble."""
        return self.rest_until is not None and now < self.rest_until

    def trouble(self, error: str) -> None:
        """Note that the plan's files could not be used: it rests, the others go on, and then it is opened anew."""
        self._troubles += 1
        now = self.clock()
        self.rest_until = now + backoff.delay(_TROUBLE, self._troubles, self.id)
        self.tell(error)

    def reopen(self) -> None:
        """Read from disk what really came to be, after trouble."""
        if self._troubles:
            self._open()
            self._troubles = 0
            self.rest_until = None
            self.tell(None)

    def block(self, reason: str | None) -> None:
        """Do nothing for the plan while there is a reason, and show it; go on from what is on disk without one."""
        if reason is None and not self.plan.blocked:
            return
        if reason is None:
            self._open()
        if self.plan.blocked != (reason is not None) or self.plan.last_error != reason:
            at = record.iso(self.clock()) if reason else None
            self.edit(lambda plan: replace(plan, blocked=reason is not None, last_error=reason, last_error_at=at))

    def tell(self, error: str | None) -> None:
        """Show an error in `prloom status`, or take it away."""
        at = record.iso(self.clock()) if error else None
        if self.plan.last_error != error:
            self.edit(lambda plan: replace(plan, last_error=error, last_error_at=at))

    def edit(self, change: Callable[[Plan], Plan]) -> None:
        """Change the plan's `state.json`."""
        self.plan = plans.change(self.local, self.plan, change)

    def close(self) -> None:
        """Let go of the plan's folder."""
        self.local.close()
