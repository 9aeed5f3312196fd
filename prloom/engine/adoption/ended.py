"""Find out which plans without a forge were merged, and give up plans that have ended, when nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from prloom.core.work import plan_life
from prloom.engine.adoption import forget
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError
from prloom.model.kinds import ENDED
from prloom.model.work import Kept
from prloom.workspace import checks, remote, repository
from prloom.workspace.repository import Repository

log = logging.getLogger(__name__)

INTERVAL: Final = timedelta(minutes=1)
"""How often the plans that have ended are looked at."""

_LET_GO = 30  # seconds


@dataclass
class EndedPlans:
    """Looks at the plans that have ended, notes until when or why they are kept, and gives up those whose time came.

    A plan without a pull request has ended when its branch is in its base, here or at origin.
    """

    registry: PlanRegistry
    _last: datetime | None = None
    _running: bool = False

    def begin(self, spawn: Callable[[Job], None], changed: Callable[[], None]) -> None:
        """Look at them where it is time, and begin to give up; `changed` is called when there are fewer plans then."""
        now = self.registry.clock()
        if self._running or (self._last is not None and self._last <= now < self._last + INTERVAL):
            return
        self._last = now
        over = [runtime for runtime in self.registry.runtimes.values() if _is_over(runtime, now)]
        done = [runtime for runtime in self.registry.runtimes.values() if _may_be_merged(runtime)]
        if over or done:
            self._running = True
            spawn(partial(self._review, done, over, changed))

    async def _review(self, done: list[PlanRuntime], over: list[PlanRuntime], changed: Callable[[], None]) -> None:
        try:
            root = self.registry.paths.root
            await asyncio.to_thread(_fetch, root, {runtime.base for runtime in done})
            for runtime in done:
                if await asyncio.to_thread(_is_merged, root, runtime) and _may_be_merged(runtime):
                    note = f"its branch is in {runtime.base}"
                    runtime.event_store.commit("plan", "prloom", plan_status="merged", note=note)
                    runtime.event_store.save()
            count = sum([await self._give_up(runtime) for runtime in over])
        finally:
            self._running = False
        if count:
            changed()

    async def _give_up(self, runtime: PlanRuntime) -> bool:
        """Give up a plan; where work would be lost with it, note that instead."""
        loop = asyncio.get_running_loop()
        but = None
        if runtime.plan.rule is None:
            but = runtime.plan.branch

        async def release() -> None:
            self.registry.release(runtime.id)

        def let_go() -> None:
            asyncio.run_coroutine_threadsafe(release(), loop).result(_LET_GO)

        def give_up() -> str:
            repo = repository.find(self.registry.paths.root)
            merged_into = _base(repo, runtime)
            junk = runtime.rules.config.work.junk
            return forget.forget(
                repo, self.registry.paths, runtime.id, let_go=let_go, but=but, merged_into=merged_into, junk=junk
            )

        try:
            branch = await asyncio.to_thread(give_up)
        except PrloomError as error:
            log.warning("plan %s is %s and is kept: %s", runtime.id, runtime.plan.status, error)
            if runtime.usable:
                _note(runtime.event_store, Kept(reason=str(error)))
            return False
        log.info("plan %s: given up, for its pull request is %s. %s", runtime.id, runtime.plan.status, branch)
        return True


def _may_be_merged(runtime: PlanRuntime) -> bool:
    return runtime.usable and plan_life.may_be_merged(runtime.plan, runtime.event_store.state, runtime.text.todos())


def _fetch(root: Path, bases: Collection[str]) -> None:
    """Fetch the bases of plans, each once; what cannot be fetched now is looked at as it was."""
    for base in bases:
        try:
            remote.fetch(repository.find(root), base)
        except PrloomError as error:
            log.info("%s cannot be fetched: %s", base, error)


def _is_merged(root: Path, runtime: PlanRuntime) -> bool:
    """Whether all of a plan's branch is in its base, here or at origin; what cannot be read now is looked at again."""
    try:
        repo = repository.find(root)
        tip = repository.branch_sha(repo, runtime.plan.branch)
        if tip is None:
            return False
        bases = (repository.branch_sha(repo, runtime.base), repository.remote_sha(repo, runtime.base))
        return any(base is not None and checks.is_contained(repo.root, tip, base) for base in bases)
    except PrloomError as error:
        log.info("plan %s: it is not known whether it is merged: %s", runtime.id, error)
        return False


def _base(repo: Repository, runtime: PlanRuntime) -> str | None:
    """Return the tip of what a plan was merged into, if it was; the remote is asked for it once."""
    if runtime.plan.status != "merged":
        return None
    kept = runtime.event_store.state.kept
    if kept is None or kept.reason is None:
        remote.fetch(repo, runtime.base)
    return repository.remote_sha(repo, runtime.base) or repository.branch_sha(repo, runtime.base)


def _is_over(runtime: PlanRuntime, now: datetime) -> bool:
    """Whether a plan has ended, nothing waits in it, and the time for which it is kept is over; note what keeps it."""
    if runtime.plan.status not in ENDED or not runtime.usable:
        return False
    state, in_flight = runtime.event_store.state, runtime.in_flight
    kept = plan_life.kept(runtime.plan, state, runtime.text.todos(), runtime.rules.config.work.keep)
    busy = in_flight.event_ids or in_flight.deliveries or in_flight.working or in_flight.at_forge
    if kept is None or busy or runtime.event_store.events.end() != state.cursor:
        return False
    if kept.until is not None and kept.until <= now:
        return True
    _note(runtime.event_store, kept)
    return False


def _note(store: EventStore, kept: Kept) -> None:
    if store.state.kept != kept:
        store.commit("plan", "prloom", kept=kept)
        store.save()
