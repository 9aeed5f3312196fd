"""Open and close the plans of a repository and its own bus, and publish what the dispatcher does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from prloom import errors
from prloom.engine import running_work
from prloom.engine.adopted_counts import AdoptedCounts
from prloom.engine.bus import plans, plugin_stores
from prloom.engine.bus.event_store import ROTATE_AT, Clock, EventStore
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plugin_stores import PluginStores
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.engine.idle_plans import IdlePlans
from prloom.engine.plan import rules as plan_rules
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.engine.status_files import StatusFiles, StatusRows
from prloom.errors import FolderRemovedError, PrloomError, StorageError
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.model.work_report import RunWait
from prloom.storage import disk, paths, repair
from prloom.storage.disk import REAL, Disk
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

REPOSITORY = ""
"""The id of the repository-wide bus among the plans."""


class PlanRegistry:
    """The open plans of a repository. Opening it takes the repository's lock, which a second dispatcher cannot have.

    `ready` are the plans in which there may be something to do, as of the last `update`. `unreadable` says why a plan
    is not open. `closed` are the runtimes of plans that are gone, whose tasks are to be ended. `plugins` are the keys
    of the plugins. `refused_drafts` says why drafts could not become plans, `read_files` has bridges read the files of
    plans, `show_todos` writes down the TODOs of a plan if they have changed, and `run_waits` has the runs that nobody
    has begun. Plugins may request something while
    it is `accepting` that: from the first `update` until the dispatcher ends.
    """

    def __init__(
        self,
        repository: RepositoryPaths,
        general: Rules,
        clock: Clock,
        *,
        disk: Disk = REAL,
        worktree_guard: WorktreeGuard | None = None,
        rotate_at: int = ROTATE_AT,
    ) -> None:
        self.paths = repository
        self.clock = clock
        self.runtimes: dict[str, PlanRuntime] = {}
        self.unreadable: dict[str, str] = {}
        self.closed: list[PlanRuntime] = []
        self.plugins: Sequence[str] = ()
        self.show_todos: Callable[[PlanRuntime], None] | None = None
        self.refused_drafts: Mapping[str, str] = {}
        self.draft_waits: Mapping[str, RunWait] = {}
        self.run_waits: Mapping[str, RunWait] = {}
        self.ready: tuple[PlanRuntime, ...] = ()
        self.accepting = False
        self.idle_plans = IdlePlans()
        self._listing = plans.PlanListing(repository)
        self._present: tuple[str, ...] = ()
        self._disk = disk
        self._rotate_at = rotate_at
        self._worktree_guard = worktree_guard or WorktreeGuard(repository.root)
        self.local = SafeDir.make(repository.root, *paths.LOCAL, disk=disk)
        if (worktrees := SafeDir.open(repository.worktrees)) is not None:
            worktrees.close()  # an earlier version made it open to others; opening it closes it to them
        self._adopted = AdoptedCounts(self.local)
        self._lock = DispatcherLock(self.local)
        self._lock.acquire()
        try:
            repair.tidy(self.local, (paths.PLUGIN_STATE_GLOBAL,), (paths.ADOPTED,))
            everywhere = partial(plugin_stores.global_writes, repository, self._worktree_guard)
            self._shared = PluginStores(self.local.make_sub(paths.PLUGIN_STATE_GLOBAL), "global", everywhere)
            plan = Plan(id=REPOSITORY, branch="", title="the repository as a whole")
            self.repository = self._runtime(plan, self.local, general)
            self._status_files = StatusFiles(self.local.make_sub(paths.BUS, paths.BUS_STATE), repository.root)
        except BaseException:
            self._lock.release()
            raise

    def all(self) -> Iterator[PlanRuntime]:
        """Yield the plans, and the repository as a whole."""
        yield from self.runtimes.values()
        yield self.repository

    def update(self, general: Rules) -> None:
        """Open new plans and close those that are gone; one that cannot be opened is tried again."""
        present = self._list()
        if present != self._present:
            for plan_id in self.runtimes.keys() - set(present):
                self._close(plan_id)
            self.unreadable = {plan_id: why for plan_id, why in self.unreadable.items() if plan_id in present}
            self._present = present
        changed = self.idle_plans.changed((REPOSITORY, *self.runtimes), self.clock())
        ready = [self.check(plan_id) for plan_id in sorted(changed)]  # git is not run for the idle ones
        if len(self.runtimes) < len(present):
            missing = [plan_id for plan_id in present if plan_id not in self.runtimes]
            for plan_id in missing:
                self._try_to_open(plan_id, general)
            ready += map(self.runtimes.get, missing)
        self.ready = tuple(runtime for runtime in ready if runtime is not None)
        self._shared.settle()
        self.accepting = True

    def release(self, plan_id: str) -> None:
        """Close a plan that is given up."""
        if plan_id in self.runtimes:
            self._close(plan_id)

    def check_all(self) -> None:
        """Look at every plan, before something is done to all of them."""
        for plan_id in tuple(self.runtimes):
            self.check(plan_id)

    def next_times(self, since: datetime) -> Iterator[float]:
        """Yield when something of each plan is due first after a time, in seconds since the epoch."""
        return self.idle_plans.next_times(self.all, 1 + len(self.runtimes), since)

    def check(self, plan_id: str) -> PlanRuntime | None:
        """Return a plan if its folder is still what was opened, and its commit brings nothing into it."""
        if plan_id == REPOSITORY:
            return self.repository
        runtime = self.runtimes.get(plan_id)
        if runtime is None or runtime.failure.active(self.clock()):
            return runtime
        try:
            problem = self._worktree_guard.problem(runtime.folders.worktree)
        except PrloomError as error:
            runtime.fail(str(error))
            return runtime
        runtime.without_branch = runtime.folders.worktree in self._worktree_guard.without_branch
        if problem is None and runtime.folders.unchanged():
            return runtime
        self._close(plan_id)
        return None

    def record_heartbeat(self) -> None:
        """Tell that the dispatcher is alive and ticking; raises FolderRemovedError where its own folder was removed.

        Raises AlreadyRunningError where another dispatcher has the repository now.
        """
        if self.local.gone():
            raise FolderRemovedError(f"{self.local.path} was removed while prloom ran; start prloom again")
        self._lock.touch()

    def unreported_error(self) -> str | None:
        """Return an error that could not be written to its plan's state, if there is one."""
        unreported = (runtime.unreported_error for runtime in self.ready)
        return next((error for error in unreported if error is not None), None)

    def shift(self, by: timedelta) -> None:
        """End waits when they were to end, now that the clock was turned back; check every plan anew."""
        self.idle_plans.clear()
        for runtime in self.all():
            runtime.failure.shift(by)

    def publish(self, plugins: StatusRows, bridges: StatusRows, now: datetime) -> None:
        """Tell `prloom status` of the plugins, the bridges and the plans that could not be opened, where that is new.

        A file that cannot be written keeps no other from being written. Raises StorageError, which names each of them.
        """
        try:
            self._status_files.write(
                running_work.report(
                    (*self.runtimes.values(), self.repository),
                    self.run_waits,
                    self.draft_waits,
                    self.repository.rules.config.dispatcher,
                ),
                plugins,
                bridges,
                {**self.refused_drafts, **self.unreadable, **self._own_error()},
                Timestamp.of(now),
            )
        finally:
            self._adopted.save(self.ready, now)

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan; raises PrloomError where there is none of that id."""
        runtime = self.runtimes.get(plan_id)
        if runtime is None:
            raise PrloomError(f"there is no plan {plan_id!r}; the plans are {', '.join(self.runtimes) or 'none'}")
        return runtime.text.read()

    def close(self) -> None:
        """Save the state of each plan and close everything, the lock last."""
        try:
            for runtime in self.all():
                self._save(runtime.event_store)
                self._adopted.save((runtime,), self.clock(), last=True)
                runtime.event_store.close("prloom has ended")
            for runtime in self.runtimes.values():
                runtime.close()
        finally:
            self._lock.release()

    # ---- inside

    def _list(self) -> tuple[str, ...]:
        """Return the ids of the plans; those of before where they cannot be listed, to be worked on all the same."""
        try:
            present = self._listing.ids()
        except StorageError as error:
            self._warn(REPOSITORY, str(error))
            return self._present
        self.unreadable.pop(REPOSITORY, None)
        return present

    def _try_to_open(self, plan_id: str, general: Rules) -> None:
        try:
            self.runtimes[plan_id] = self._open(plan_id, general)
            log.info("plan %s was opened", plan_id)
            self.unreadable.pop(plan_id, None)
        except PrloomError as error:
            self._warn(plan_id, str(error))
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            if plan_id not in self.unreadable:
                errors.log_failure(log, error, f"plan {plan_id} cannot be opened")
            self.unreadable[plan_id] = errors.explain(error) or f"a bug in prloom: {errors.describe(error)}"

    def _warn(self, plan_id: str, error: str) -> None:
        if self.unreadable.get(plan_id) != error:
            log.warning("%s cannot be worked on: %s", f"plan {plan_id}" if plan_id else "the repository", error)
        self.unreadable[plan_id] = error

    def _close(self, plan_id: str) -> None:
        runtime = self.runtimes.pop(plan_id)
        self.idle_plans.drop(plan_id)
        log.info("plan %s is not looked after any more", plan_id)
        runtime.close()
        self.closed.append(runtime)

    def _open(self, plan_id: str, general: Rules) -> PlanRuntime:
        worktree = self.paths.worktree(plan_id)
        problem = self._worktree_guard.problem(worktree)
        if problem is not None:
            raise PrloomError(problem)
        local = SafeDir.open(worktree, *paths.LOCAL, disk=self._disk)
        if local is None:
            raise PrloomError(f"there is no {worktree.joinpath(*paths.LOCAL)}; adopt its branch or pull request again")
        if disk.is_scarce(local.fd):  # those that are open keep what they need to be worked on
            raise PrloomError("there are too many plans for the limit of open files; raise it (`ulimit -n`)")
        plan = plans.load(local)
        if plan.id != plan_id:
            raise PrloomError(
                f"{local.where(paths.PLAN_STATE)} belongs to plan {plan.id!r}; adopt its branch or pull request again"
            )
        return self._runtime(plan, local, plan_rules.of_plan(plan, general))

    def _runtime(self, plan: Plan, local: SafeDir, of: Rules) -> PlanRuntime:
        if plan.id:
            worktree = self.paths.worktree(plan.id)
        else:
            worktree = self.paths.root
        runtime = PlanRuntime(
            plan,
            PlanFolders(self.paths.root, worktree, local, runs=worktree.joinpath(*paths.LOCAL, paths.RUNS)),
            shared=self._shared,
            issued=IssuedPosts(self.local, plan, self.clock, self.plugins),
            rules=of,
            clock=self.clock,
            rotate_at=self._rotate_at,
        )
        runtime.without_branch = worktree in self._worktree_guard.without_branch
        if self.show_todos is not None:
            runtime.show_todos = self.show_todos
        return runtime

    def _own_error(self) -> Mapping[str, str]:
        error = self.repository.plan.last_error
        if error is None:
            return {}
        return {REPOSITORY: error}

    def _save(self, store: EventStore) -> None:
        try:
            store.save()
        except StorageError as error:  # the decision log has it all
            log.warning("plan %s: %s", store.plan_id, error)
