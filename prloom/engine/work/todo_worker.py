"""Work on the TODOs of plans: do each step that the core decides, and commit what it comes to."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from prloom.core.plans.plan_file import TodoItem
from prloom.core.work import work_failures, work_replies, work_results
from prloom.core.work import work_steps as work_rules
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import (
    BlockPlan,
    Continue,
    Correct,
    Finish,
    FinishAgain,
    Propose,
    RunHooks,
    StopFinishing,
    Take,
    TodoStep,
    Unblock,
    Withdraw,
)
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import check_run, hook_run, life_hooks, lost_branch, plan_hooks, pull_request, todo_events
from prloom.engine.work.branch_errors import BranchBlockedError, PushRefusedError
from prloom.engine.work.change import Changes
from prloom.engine.work.context import context, current, item_of
from prloom.engine.work.hook_run import CommitRefusedError
from prloom.engine.work.plan_hooks import PlanHook, PlanHookBlockedError
from prloom.engine.work.rebase_run import RebaseRuns
from prloom.engine.work.review_run import ReviewRuns
from prloom.engine.work.setup_run import SetupFailedError, SetupRuns
from prloom.engine.work.worker_run import WorkerRuns
from prloom.errors import AgentError, PrloomError, WorkspaceError
from prloom.model.decision import DecisionParts
from prloom.model.hook_points import AFTER_TODO, BEFORE_FINISH, BEFORE_TODO
from prloom.model.work import TodoWork
from prloom.storage import plan_session
from prloom.workspace.commits import BranchMovedError, IdentityMissingError
from prloom.workspace.signing import SignatureError
from prloom.workspace.worktree_update import WorktreeInTheWayError

log = logging.getLogger(__name__)

_OF_REBASES = ("ready", "running", "checked", "accepted", "committed")
"""Phases in which a TODO for a rebase takes another way than a change."""


@dataclass
class TodoWorker:
    """Works on one TODO at a time of each plan; where a step is broken off, the next start finds it again."""

    pool: AgentPool

    def __post_init__(self) -> None:
        self._changes = Changes(self.pool.root, self.pool.environ)
        self._setup = SetupRuns(self.pool, self._changes)
        self._workers = WorkerRuns(self.pool, self._changes, self._setup)
        self._rebases = RebaseRuns(self._changes, self._workers)
        self._reviews = ReviewRuns(self.pool, self._changes)

    def begin(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Begin the next steps of the work on a plan, beside everything else; return whether there are any."""
        if runtime.in_flight.working:
            return False
        lost_branch.block(self._changes.repo, runtime)
        self._workers.compare_configuration(runtime)
        if self._next(runtime, dependencies) is None:
            return False
        lock = plan_session.take_for_work(runtime.folders.repo_root, runtime.id)
        if lock is not None:  # else a person has the worktree
            runtime.in_flight.working = True
            dependencies.tasks.spawn(runtime, partial(self._work, runtime, dependencies, lock))
        return lock is not None

    def keep_pull_request(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
        """Begin what is to be done with the pull request, which a forge that fails does not keep the work from."""
        return pull_request.begin(runtime, dependencies)

    def take_usable(self) -> frozenset[str]:
        """Return the agent programs that can be used again since this was asked last."""
        return self.pool.agent_waits.take_usable()

    async def close(self) -> None:
        """Have the workers end that do the runs."""
        await self.pool.close()

    async def _work(self, runtime: PlanRuntime, dependencies: PlanDependencies, lock: int) -> None:
        try:
            while (step := await self._next_allowed(runtime, dependencies)) is not None:
                await asyncio.sleep(0)  # a step may wait for nothing; signals and other plans come first
                await self._do(runtime, step, dependencies)
        finally:
            self.pool.workers.end_preparing(runtime.in_flight)
            os.close(lock)
            runtime.in_flight.working = False

    async def _next_allowed(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> TodoStep | None:
        """Return the next step; where it prepares the plan for a worker, wait until it is this plan's turn."""
        step = self._next(runtime, dependencies)
        if step is None or not work_rules.prepares(step) or runtime.in_flight.preparing:
            return step
        await self.pool.workers.begin_preparing(runtime.in_flight)
        return self._next(runtime, dependencies)

    def _next(self, runtime: PlanRuntime, dependencies: PlanDependencies) -> TodoStep | None:
        if not runtime.usable or runtime.has_lost_text:
            return None
        life = life_hooks.next_step(runtime, dependencies)
        if life is not None or runtime.plan.status != "active":
            return life
        return work_rules.next_step(
            runtime.event_store.state,
            runtime.text.todos(),
            runtime.rules.work,
            now=dependencies.horizon or runtime.clock(),
            may_take=dependencies.horizon is None or not runtime.in_flight.took,
        )

    async def _do(self, runtime: PlanRuntime, step: TodoStep, dependencies: PlanDependencies) -> None:
        """Do one step. Git that fails and programs that are missing make the work wait, and not the plan's comments."""
        try:
            await self._step(runtime, step, dependencies)
        except PlanHookBlockedError as error:
            self._block(runtime, str(error), "hook")
        except BranchBlockedError as error:
            self._block(runtime, str(error), "branch")
        except SignatureError as error:
            self._block(runtime, str(error), "signature")
        except SetupFailedError as error:
            self._block(runtime, str(error), "setup")
        except WorktreeInTheWayError as error:
            way_on = f"prloom resume {runtime.id} --commit | --stash"
            self._block(runtime, str(error), "worktree", way_on=way_on)
        except PushRefusedError as error:
            self._wait(runtime, str(error), refused=True)
        except IdentityMissingError as error:
            self._wait_for_identity(runtime, str(error))
        except (WorkspaceError, AgentError) as error:
            self._wait(runtime, str(error))

    async def _step(self, runtime: PlanRuntime, step: TodoStep, dependencies: PlanDependencies) -> None:
        match step:
            case Take():
                self._take(runtime, step)
            case Continue(work=work) if work.rebase and work.phase in _OF_REBASES:
                await self._continue_rebase(runtime, work)
            case Continue(work=work):
                await self._continue(runtime, work, dependencies)
            case Withdraw():
                await self._withdraw(runtime, step)
            case Propose() | Correct() | BlockPlan() | Unblock() | FinishAgain() | StopFinishing():
                _commit(runtime, work_results.noted(context(runtime), step))
                problem = work_results.without_effect(step, self._next(runtime, dependencies))
                if problem is not None:
                    raise PrloomError(problem)
            case Finish():
                await life_hooks.run(runtime, BEFORE_FINISH, dependencies)
                if isinstance(self._next(runtime, dependencies), Finish):  # a hook may have added a TODO
                    _commit(runtime, work_results.finished(runtime.id))
            case RunHooks(hook=name):
                await life_hooks.run(runtime, name, dependencies)
                _commit(runtime, work_results.hooks_run(runtime.id, name))
            case _:
                assert_never(step)

    def _take(self, runtime: PlanRuntime, step: Take) -> None:
        runtime.in_flight.took = True
        assert step.todo.id is not None  # noqa: S101 - next_step takes no other
        rebase = step.todo.id == runtime.event_store.state.rebase_todo
        answer = runtime.event_store.state.answers.get(step.todo.id)
        event_ids = todo_events.ids(runtime.issued, step.todo.id)
        _commit(runtime, work_results.taken(step, event_ids, rebase=rebase, answer=answer))

    async def _continue(self, runtime: PlanRuntime, work: TodoWork, dependencies: PlanDependencies) -> None:
        """Do what the phase of the work says; see `prloom.model.work.Phase`."""
        item = item_of(runtime.text.todos(), work)
        match work.phase:
            case "taken":
                await self._prepare(runtime, work)
            case "prepared":
                await _run_hooks(runtime, plan_hooks.of_todo(runtime, BEFORE_TODO, work, item), dependencies)
                _commit(runtime, work_results.ready(current(runtime.event_store.state, work)))
            case "ready" | "running":
                await self._workers.attempt(runtime, work, item)
            case "changed":
                await self._check(runtime, work)
            case "checked":
                await self._review(runtime, work, item)
            case "reviewed":
                await self._run_after_hooks(runtime, work, item, dependencies)
                _commit(runtime, work_results.accepted(current(runtime.event_store.state, work)))
            case "accepted":
                await self._commit_change(runtime, work)
            case "committed":
                _commit(runtime, await self._changes.push(runtime, work))
            case "pushed":
                await self._report(runtime, work)
            case _:
                assert_never(work.phase)

    async def _run_after_hooks(
        self, runtime: PlanRuntime, work: TodoWork, item: TodoItem, dependencies: PlanDependencies
    ) -> None:
        hook = plan_hooks.of_todo(runtime, AFTER_TODO, work, item)
        if plan_hooks.keys(runtime.rules, AFTER_TODO, dependencies.plugin_set):  # else nobody looks at the difference
            await _run_hooks(runtime, replace(hook, diff=await self._changes.diff(work)), dependencies)

    async def _continue_rebase(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Do what the phase says where a rebase takes the place of a change: it needs no review and no commit."""
        match work.phase:
            case "checked":
                _commit(runtime, work_results.approved(work, "a rebase is not reviewed"))
            case "accepted":
                _committed(runtime, work, await self._rebases.accept(runtime, work))
            case "committed":
                _commit(runtime, await self._rebases.push(runtime, work))
            case _:
                await self._rebases.attempt(runtime, work, item_of(runtime.text.todos(), work))

    async def _prepare(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Find the commit that the change is to be made on, and give its files to the plan's clone."""
        base, moved = await self._changes.prepare(runtime)
        _commit(runtime, work_results.prepared(work, base, moved))

    async def _check(self, runtime: PlanRuntime, work: TodoWork) -> None:
        if runtime.rules.config.work.checks:
            await self._changes.ensure_clone(runtime, work)
            await self._setup.ensure(runtime, work)
        failure = await check_run.first_failure(self.pool, runtime, work)
        if failure is None:
            _commit(runtime, work_results.checked(work, runtime.rules.config.work.checks))
            return
        parts = work_failures.failed(context(runtime), work, failure)
        if work.rebase:
            parts = work_failures.parked(context(runtime), work, f"after the rebase, {failure.reason}")
        await self._fail(runtime, parts)

    async def _review(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem) -> None:
        if not runtime.rules.work.review:
            _commit(runtime, work_results.approved(work, "no review is configured"))
            return
        await self._fail(runtime, await self._reviews.review(runtime, work, item))

    async def _commit_change(self, runtime: PlanRuntime, work: TodoWork) -> None:
        try:
            commit = await self._changes.found(runtime, work) or await self._new_commit(runtime, work)
        except CommitRefusedError as error:
            failure = AttemptFailed("check", str(error), str(error), tree=work.tree, output=str(error))
            await self._fail(runtime, work_failures.failed(context(runtime), work, failure))
        except BranchMovedError as error:
            await self._workers.begin_again(runtime, work, str(error))
        else:
            _committed(runtime, work, commit)

    async def _new_commit(self, runtime: PlanRuntime, work: TodoWork) -> str:
        message = self._changes.message(runtime, work)
        if runtime.rules.config.work.git_hooks:
            message = await hook_run.run(self.pool, self._changes, runtime, work, message)
        return await self._changes.commit(runtime, work, message)

    async def _fail(self, runtime: PlanRuntime, parts: DecisionParts) -> None:
        """Commit a failed attempt; where it was the last, keep the change beside the branch first."""
        step, work = parts.get("work"), runtime.event_store.state.work
        if step is not None and step.verdict == "parked" and work is not None:
            parts = work_results.with_remark(parts, await self._keep(runtime, work))
        _commit(runtime, parts)

    async def _keep(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        """Leave worktree and branch as they were before the TODO, and keep its change; say why, if a rebase stays."""
        if work.rebase:
            return await self._rebases.give_up(runtime, work)
        await self._changes.keep(runtime, work)
        return None

    async def _withdraw(self, runtime: PlanRuntime, step: Withdraw) -> None:
        remark = None
        if step.work.commit is None:  # else it stays on the branch
            remark = await self._keep(runtime, step.work)
        _commit(runtime, work_results.removed(context(runtime), step, remark))

    async def _report(self, runtime: PlanRuntime, work: TodoWork) -> None:
        events = await asyncio.to_thread(todo_events.of, runtime, work.event_ids)
        pauses = runtime.rules.config.work.pause_after_todo and work_rules.pauses_after(runtime.text.todos(), work.id)
        parts = work_results.done(work, pause=pauses)
        _commit(runtime, {**parts, "actions": work_replies.done(work, events, runtime.issued.posts().issued)})

    # ---- waits and blocks

    def _block(
        self, runtime: PlanRuntime, reason: str, cause: work_results.BlockCause, *, way_on: str | None = None
    ) -> None:
        way_on = way_on or f"prloom resume {runtime.id}"
        log.warning("plan %s is blocked: %s", runtime.id, reason)
        _commit(runtime, work_results.blocked(context(runtime), reason, way_on=way_on, cause=cause))

    def _wait(self, runtime: PlanRuntime, reason: str, *, refused: bool = False) -> None:
        """Try the present step again later; after the deadline of all waits, a person is asked."""
        work = runtime.event_store.state.work
        if work is None:
            self._block(runtime, reason, "worktree")
            return
        log.warning("plan %s: the TODO %s waits: %s", runtime.id, work.id, reason)
        _commit(runtime, work_failures.delayed(context(runtime), work, reason, refused=refused))

    def _wait_for_identity(self, runtime: PlanRuntime, reason: str) -> None:
        """Have the commit wait until git knows whose it is; no deadline ends that, for a person sees to it."""
        work = runtime.event_store.state.work
        if work is None:
            self._block(runtime, reason, "worktree")
            return
        wait = self.pool.agent_waits.without_identity(reason, runtime.clock())
        _commit(runtime, work_failures.limited(context(runtime), work, wait))


def _commit(runtime: PlanRuntime, parts: DecisionParts) -> None:
    """Commit a step to the store of now: the plan may have been opened anew while its parts were awaited."""
    runtime.event_store.commit("work", "prloom", **parts)


def _committed(runtime: PlanRuntime, work: TodoWork, commit: str) -> None:
    """Commit that a change is on the branch, with the further TODOs that its worker proposed."""
    parts = work_results.committed(work, commit)
    _commit(runtime, work_results.with_further(parts, work, work.todos, todo_events.ever_added(runtime.issued)))


async def _run_hooks(runtime: PlanRuntime, hook: PlanHook, dependencies: PlanDependencies) -> None:
    await plan_hooks.run_all(runtime, hook, dependencies.plugin_set, dependencies.triager.services(runtime))
