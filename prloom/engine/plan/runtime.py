"""Hold what the dispatcher keeps in memory of one plan: its event store, its folders, and what is under way."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from prloom.api.bridge import TrackedPlan
from prloom.core.delivery import audience, outbox
from prloom.core.delivery.audience import Audience
from prloom.core.events import admission
from prloom.core.plans import lost_text
from prloom.core.text import bounds, naming
from prloom.engine.bus import entries, plans, plugin_stores, replay
from prloom.engine.bus.event_store import ROTATE_AT, Clock, EventStore
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plan_files import PlanFile, PlanStateFile
from prloom.engine.bus.plan_folder import PlanFolder
from prloom.engine.bus.plugin_stores import PluginStores
from prloom.engine.bus.seen_ids import SeenIds
from prloom.engine.plan.failure_backoff import FailureBackoff
from prloom.engine.plan.in_flight import InFlight
from prloom.engine.plan.rules import Rules
from prloom.errors import StorageError
from prloom.model.action import Action
from prloom.model.event import Target
from prloom.model.kinds import ENDED
from prloom.model.plan import Plan
from prloom.model.record import Cursor, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import paths, repair
from prloom.storage.file_stamp import FileStamp
from prloom.storage.replaced_files import ReplacedFiles
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlanFolders:
    """Where a plan's files are: the operator's checkout, the plan's worktree, its `prloom/.local`, and agents' runs."""

    repo_root: Path
    worktree: Path
    local: SafeDir
    runs: Path

    @property
    def clone(self) -> Path:
        """The clone in which the plan's agents work; it is there from the first work on."""
        return self.repo_root.joinpath(*paths.LOCAL, paths.CLONES, self.worktree.name)

    def unchanged(self) -> bool:
        """Whether the plan's folder is still the one that was opened, and not another of that name, or none."""
        try:
            return os.path.samestat(self.worktree.joinpath(*paths.LOCAL).lstat(), os.fstat(self.local.fd))
        except OSError:
            return False


class PlanRuntime:
    """A plan that the dispatcher works on.

    `without_branch` says that its branch was deleted, as of the last check of its worktree.
    `orphans_stopped` says that the runs of an earlier dispatcher that no job waits for were stopped. `unreported_error`
    is an error that could not be written to the plan's state. `read_to` bounds what is taken in: events behind it are
    left to the next tick. `head` is the commit at the head of the pull request, `ticked` are the boxes of its cockpit
    that are ticked and of which events came, and `forge_ahead` how far the forge's clock is ahead of ours, as of the
    last poll. `torn_line` is where a last line without its newline ends, and when it was found.
    `configuration_compared` says that this dispatcher has compared what something waits for with the settings of now.
    `show_todos` writes the list of TODOs into the activity if it has changed.
    """

    def __init__(
        self,
        plan: Plan,
        folders: PlanFolders,
        *,
        shared: PluginStores,
        issued: IssuedPosts,
        rules: Rules,
        clock: Clock,
        rotate_at: int = ROTATE_AT,
    ) -> None:
        self.plan = plan
        self.folders = folders
        self.rules = rules
        self.clock = clock
        self.shared_stores = shared
        self.issued = issued
        self.text = PlanFile(folders.local)
        self._replaced = ReplacedFiles(folders.local)
        own = partial(plugin_stores.writes, folders.local.make_sub(paths.BUS), "plan")
        self.stores = PluginStores(folders.local.make_sub(paths.PLUGIN_STATE), "plan", own)
        self.stores_by_scope = {"plan": self.stores, "global": shared}
        self.in_flight = InFlight(clock)
        self.failure = FailureBackoff()
        self.without_branch = False
        self.orphans_stopped = False
        self.read_to: Cursor | None = None
        self.head: str | None = None
        self.forge_ahead = timedelta()
        self.ticked: tuple[str, ...] = ()
        self.todos_checked: FileStamp | None = None
        self.configuration_compared = False
        self.show_todos: Callable[[PlanRuntime], None] = _discard
        self.torn_line: tuple[Cursor, datetime] | None = None
        self.unreported_error: str | None = None
        self._rotate_at = rotate_at
        self._must_reopen = False
        repair.tidy(folders.local, (paths.BUS,), (paths.BUS, paths.BUS_STATE), (paths.PLUGIN_STATE,))
        self._open()

    def _open(self) -> None:
        bus = self.folders.local.make_sub(paths.BUS)
        effects = (self.text, self.stores, self.shared_stores, PlanStateFile(self.edit), self.issued)
        self.event_store = EventStore.open(bus, self.clock, effects, rotate_at=self._rotate_at)
        self.event_store.plan_id = self.id
        self.event_store.audience = self.audience
        self.event_store.posting = self.rules.posting
        if self.id:
            self.event_store.conversation = lambda: reply_target(self.plan)
        self.load_seen_ids(self.event_store.state.cursor, self.event_store.state.rereading)

    def audience(self, action: Action) -> Audience:
        """Return whom an action answers, also where its event is done."""
        event_id = action.related_event_id
        if event_id is None:
            return "trusted"
        opened = self.event_store.state.open.get(event_id)
        if opened is not None:
            event = self.event_store.texts.get(opened)
            return audience.audience(event, self.rules.trust, admitted=opened.state != "held", vouched=opened.vouched)
        position, event = self.seen_ids.position(event_id), None
        if position is not None:
            event = entries.event(self.event_store.events.read_at(position))
        return audience.audience(event, self.rules.trust, admitted=False, vouched=False)

    def load_seen_ids(self, cursor: Cursor, rereading: Cursor | None) -> None:
        """Take the ids up to a cursor as seen; while a replaced file is read anew, also those that the log names.

        The log is the only one that knows them until the file is read as far as `rereading`.
        """
        self.seen_ids = SeenIds(self.event_store.events, cursor)
        if rereading is not None:
            with self.folders.local.make_sub(paths.BUS) as bus:
                self.seen_ids.recall(replay.taken_in(bus), rereading)

    @property
    def base(self) -> str:
        """The branch that the plan is to be merged into, and rebased onto."""
        return self.plan.merges_into or self.rules.config.base_branch

    @property
    def id(self) -> str:
        """The plan's id."""
        return self.plan.id

    @property
    def tracked(self) -> TrackedPlan:
        """The plan as bridges see it."""
        plan, adopted = self.plan, None
        files = PlanFolder(self.folders.local, replaced=self._replaced)
        if plan.created_at is not None:
            adopted = str(plan.created_at)
        mark = None
        if not self.event_store.state.pull_request.opened:
            mark = outbox.cockpit_marker(plan.id)
        return TrackedPlan(plan.id, plan.branch, self.folders.worktree, files, plan.pr, adopted, self._has_ended, mark)

    def _has_ended(self, event_id: str) -> bool:
        """Whether the plan took in an event of this id, and nothing of it waits any more."""
        return event_id in self.seen_ids and not admission.waits(event_id, self.event_store.state)

    @property
    def usable(self) -> bool:
        """Whether the plan's files can be written just now, as far as is known."""
        return not (self.plan.blocked or self._must_reopen or self.failure.active(self.clock()))

    @property
    def has_lost_text(self) -> bool:
        """Whether `plan.md` is missing or empty although TODOs of it have not ended: nothing can be done for it."""
        if not self.id or self.plan.status in ENDED or not lost_text.awaited(self.event_store.state):
            return False
        return self.text.is_blank()

    def fail(self, error: str) -> None:
        """Leave the plan alone for a while because its files could not be used, and open it anew after that.

        An error that comes back soon makes the wait longer each time. Never raises: it is what errors come to.
        """
        now = self.clock()
        with suppress(StorageError):  # meanwhile, its state is shown as it was decided
            self.event_store.save()
        self.event_store.close(error)
        self._must_reopen = True
        if self.failure.active(now) or self.folders.local.fd < 0:
            return
        since = self.failure.failed(self.id, now, error)
        self._report(bounds.cut(error), since)

    def reopen(self) -> None:
        """Read from disk what really came to be, after an error."""
        if self._must_reopen:
            self._open()
            self._must_reopen = False

    def succeeded(self) -> None:
        """Take back the error that `prloom status` shows, now that the plan could be worked on.

        One in the text of a plan that is not over is shown until it is corrected.
        """
        problem = None
        if self.has_lost_text:
            problem = lost_text.problem(self.id, self.event_store.state)
        elif self.plan.status not in ENDED:
            problem = self.text.problem()
        if self.plan.last_error != problem or self.unreported_error is not None:
            since = None
            if problem is not None:
                since = self.clock()
            self._report(problem, since)

    def _report(self, error: str | None, since: datetime | None = None) -> None:
        """Show an error in `prloom status`, or take it away; where not even that can be written, it is logged only."""
        at = None
        if since is not None:
            at = Timestamp.of(since)
        try:
            if self.plan.last_error != error:
                self.edit(lambda plan: replace(plan, last_error=error, last_error_at=at))
        except StorageError as failure:
            self.unreported_error = error
            log.warning("plan %s: %s", self.id, failure)
        else:
            self.unreported_error = None

    def note_base(self, base: str) -> None:
        """Note which branch the pull request is to be merged into, as its forge says now."""
        if base != self.plan.pr_base and naming.is_branch_name(base):
            log.info("plan %s: its pull request is to be merged into %s", self.id, naming.printable(base))
            self.edit(lambda plan: replace(plan, pr_base=base))

    def edit(self, change: Callable[[Plan], Plan]) -> None:
        """Change the plan's `state.json`; the repository has none, or it would look like a plan's worktree."""
        if self.id:
            self.plan = plans.change(self.folders.local, self.plan, change)
        else:
            self.plan = change(self.plan)

    def close(self) -> None:
        """Close the plan's files; what still runs for it can write nothing any more."""
        self.event_store.close("the plan was closed")
        self._replaced.close()
        self.folders.local.close()


def _discard(_: PlanRuntime) -> None:
    """Do nothing: without a dispatcher, no activity is written."""


def reply_target(plan: Plan) -> Target:
    """Return where an answer goes that belongs to no thread: the pull request, or the local file if there is none."""
    if plan.pr is not None and plan.forge:
        return Target(plan.forge, {"pr": plan.pr})
    return local_target(plan)


def local_target(plan: Plan) -> Target:
    """Return where an answer goes in the plan's local file that belongs to no item of it."""
    return Target("local", {"plan": plan.id, "section": "replies"})


def is_triaging(state: DispatchState) -> bool:
    """Whether an agent works on events of the plan."""
    return any(event.run for event in state.open.values())
