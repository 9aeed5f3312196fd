"""One plan at work: its ledger, its stores, and what of it is in somebody's hands just now."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from prloom import backoff
from prloom.api.bridge import TrackedPlan
from prloom.backoff import Backoff
from prloom.config.models import Config
from prloom.core import bounds
from prloom.core.activity import RunningHook
from prloom.core.trust import Policy
from prloom.engine.bus import history, plans
from prloom.engine.bus.event_store import ROTATE_AT, Clock, EventStore
from prloom.engine.bus.files import PlanFolder
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plan_state import PlanState
from prloom.engine.bus.plan_text import PlanFile
from prloom.engine.bus.seen_ids import SeenIds
from prloom.engine.bus.stores import PluginStores
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.event import Target
from prloom.model.plan import Plan
from prloom.model.position import Cursor
from prloom.storage import paths, quarantine
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_TROUBLE = Backoff(initial=timedelta(seconds=1), maximum=timedelta(minutes=5))
_CALM = timedelta(minutes=1)
"""Trouble that comes back sooner than this, or than the last rest was long, is the same trouble."""


class PlanRuntime:
    """A plan that the dispatcher works on.

    `busy` are the events in a hook's or an agent's hands. `alone` are those that are shown one by one because a hook
    failed on them in company, and `suspects` those of them that a plugin's process may have died of. `delivering` are
    the bridges that are at work on actions of this plan, each with whether those are courtesies. `awaits_agent` says
    that a job waits for an agent's turn, or has it. `hooks_running` are the hook calls that are under way. `swept`
    says that runs of an earlier dispatcher have been looked for. `untold` is trouble that could not be written down.
    All of these are memory only: after a crash nobody holds anything. `read_to` bounds what is taken in: events behind
    it are left to the next tick. `head` is the commit at the head of the pull request, and `forge_ahead` how far
    the forge's clock is ahead of ours, as the last poll had it.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        repo_root: Path,
        worktree: Path,
        local: SafeDir,
        shared: PluginStores,
        issued: IssuedPosts,
        rules: Rules,
        clock: Clock,
        rotate_at: int = ROTATE_AT,
    ) -> None:
        self.plan = plan
        self.repo_root = repo_root
        self.worktree = worktree
        self.local = local
        self.rules = rules
        self.clock = clock
        self.shared = shared
        self.issued = issued
        self._rotate_at = rotate_at
        self.text = PlanFile(local)
        own = partial(history.writes, local.make_sub(paths.BUS), "plan")
        self.stores = PluginStores(local.make_sub(paths.PLUGIN_STATE), "plan", own)
        self.busy: set[str] = set()
        self.alone: set[str] = set()
        self.suspects: set[str] = set()
        self.delivering: set[tuple[str, bool]] = set()
        self.awaits_agent = False
        self.hooks_running: tuple[RunningHook, ...] = ()
        self.swept = False
        self.read_to: Cursor | None = None
        self.head: str | None = None
        self.forge_ahead = timedelta()
        self.todos_seen_at: int | None = None
        self.torn: tuple[Cursor, datetime] | None = None
        self.rest_until: datetime | None = None
        self.untold: str | None = None
        self._rested = timedelta(0)
        self._troubles = 0
        self._anew = False
        quarantine.tidy(local, (paths.BUS,), (paths.BUS, paths.BUS_STATE), (paths.PLUGIN_STATE,))
        self._open()

    def _open(self) -> None:
        bus = self.local.make_sub(paths.BUS)
        effects = (self.text, self.stores, self.shared, PlanState(self.edit), self.issued)
        self.event_store = EventStore.open(bus, self.clock, effects, rotate_at=self._rotate_at)
        self.event_store.plan_id = self.id
        self.know(self.event_store.state.cursor, self.event_store.state.rereading)

    def know(self, cursor: Cursor, rereading: Cursor | None) -> None:
        """Know the events up to a cursor; while a file is read that took another's place, those too that the log tells.

        The log is the only one that knows them until the file is read as far as `rereading`.
        """
        self.known = SeenIds(self.event_store.events, cursor)
        if rereading is not None:
            with self.local.make_sub(paths.BUS) as bus:
                self.known.recall(history.taken_in(bus), rereading)

    @property
    def id(self) -> str:
        """The plan's id."""
        return self.plan.id

    @property
    def tracked(self) -> TrackedPlan:
        """The plan as bridges see it."""
        plan = self.plan
        return TrackedPlan(
            plan.id, plan.branch, self.worktree, PlanFolder(self.local), pr=plan.pr, adopted=plan.created_at
        )

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
        return self.event_store.state.paused

    @property
    def in_run(self) -> bool:
        """Whether an agent is at work on events of this plan."""
        return any(event.run for event in self.event_store.state.open.values())

    def clear(self, event_ids: AbstractSet[str]) -> None:
        """Take events to be as good as others again; also those that came to their end under suspicion."""
        self.alone = (self.alone - event_ids) & self.event_store.state.open.keys()
        self.suspects = (self.suspects - event_ids) & self.event_store.state.open.keys()

    @property
    def usable(self) -> bool:
        """Whether the plan's files can be written just now, as far as is known."""
        return not (self.plan.blocked or self._anew or self.resting(self.clock()))

    def resting(self, now: datetime) -> bool:
        """Whether the plan is left alone for a while after its files made trouble."""
        return self.rest_until is not None and now < self.rest_until

    def trouble(self, error: str) -> None:
        """Note that the plan's files could not be used: it rests, the others go on, and then it is opened anew.

        Trouble that comes back soon makes it rest longer each time. Never raises: it is what errors come to.
        """
        now = self.clock()
        with suppress(StorageError):  # while it rests, its state is shown as it was decided
            self.event_store.save()
        self.event_store.close(error)
        self._anew = True
        if self.resting(now) or self.local.fd < 0:
            return
        if self.rest_until is None or now >= self.rest_until + max(self._rested, _CALM):
            self._troubles = 0
        self._troubles += 1
        self._rested = backoff.delay(_TROUBLE, self._troubles, self.id)
        self.rest_until = now + self._rested
        self.tell(error)

    def turn_back(self, by: timedelta) -> None:
        """Have the rest end when it was to end, now that the clock was turned back."""
        if self.rest_until is not None:
            self.rest_until -= by

    def reopen(self) -> None:
        """Read from disk what really came to be, after trouble."""
        if self._anew:
            self._open()
            self._anew = False

    def well(self) -> None:
        """Note that the plan could be worked on."""
        if self.plan.last_error is not None or self.untold is not None:
            self.tell(None)

    def tell(self, error: str | None) -> None:
        """Show an error in `prloom status`, or take it away; where not even that can be written, it is logged only."""
        if error is None:
            error = None
        else:
            error = bounds.cut(error)
        at = None
        if error:
            at = record.iso(self.clock())
        try:
            if self.plan.last_error != error:
                self.edit(lambda plan: replace(plan, last_error=error, last_error_at=at))
        except StorageError as failure:
            self.untold = error
            log.warning("plan %s: %s", self.id, failure)
        else:
            self.untold = None

    def edit(self, change: Callable[[Plan], Plan]) -> None:
        """Change the plan's `state.json`; the repository itself has none, and must not look like a plan's worktree."""
        if self.id:
            self.plan = plans.change(self.local, self.plan, change)
        else:
            self.plan = change(self.plan)

    def stands(self) -> bool:
        """Whether the plan's folder is still the one that was opened, and not another of that name, or none."""
        try:
            return os.path.samestat(self.worktree.joinpath(*paths.LOCAL).lstat(), os.fstat(self.local.fd))
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the plan; whoever is still at work on it can write nothing any more."""
        self.event_store.close("the plan was closed")
        self.local.close()


@dataclass(frozen=True)
class Rules:
    """The rules that one plan is worked by; a plan's preset may differ from the others."""

    config: Config
    trust: Policy
    backoff: Backoff
    hook_timeout: timedelta


def rules(config: Config) -> Rules:
    """Return the rules that a configuration amounts to."""
    return Rules(
        config=config,
        trust=Policy(config.trust.minimum, config.trust.users, config.trust.bots),
        backoff=Backoff(
            initial=config.backoff.initial,
            maximum=config.backoff.maximum,
            deadline=config.backoff.deadline,
            max_attempts=config.backoff.max_attempts,
        ),
        hook_timeout=config.plugins.hook_timeout,
    )
