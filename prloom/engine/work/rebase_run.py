"""Rebase a plan's branch onto its base because that was requested; where it conflicts, a worker resolves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from prloom.core.plans.plan_file import TodoItem
from prloom.core.text.naming import printable
from prloom.core.work import conflict_results, inspection, work_failures, work_results
from prloom.core.work.conflict_results import RebaseConflict
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import branch as plan_branch
from prloom.engine.work import change_rules
from prloom.engine.work.branch_errors import BranchBlockedError
from prloom.engine.work.change import Changes
from prloom.engine.work.context import context
from prloom.engine.work.worker_run import WorkerRuns
from prloom.errors import WorkspaceError
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork
from prloom.workspace import clone, commits, rebase, rebase_stop, remote, repository, rewritten, signing
from prloom.workspace.rebase import RebaseDone
from prloom.workspace.rebase_stop import RebaseStopped
from prloom.workspace.remote import Fetched, NoRemote, Pushed, Rejected
from prloom.workspace.repository import Repository
from prloom.workspace.rewritten import Rewrite


@dataclass
class RebaseRuns:
    """Rebases branches: a TODO for a rebase takes the place of a change in its phases from `ready` to `pushed`."""

    changes: Changes
    workers: WorkerRuns

    async def attempt(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem) -> None:
        """Go on with the rebase to its end or to the next conflict, and have a worker resolve that."""
        if work.phase == "ready":
            done = await asyncio.to_thread(self._go_on, runtime, work)
            if isinstance(done, RebaseDone):
                self._commit(runtime, await self._rebased(runtime, work, done))
                return
            barred = inspection.barred(done.paths, change_rules.rules(runtime.rules.config.work))
            if barred:
                parts = conflict_results.barred(context(runtime), work, runtime.base, barred)
                self._commit(runtime, work_results.with_remark(parts, await self.give_up(runtime, work)))
                return
            work = replace(work, tree=done.given)
            item = replace(item, context=f"{item.context}\n\n{_conflict(done, runtime.base)}")
        report = await self.workers.run(runtime, work, item)
        running = runtime.event_store.state.work
        if report is not None and running is not None:
            await self._judge(runtime, running, report)

    async def give_up(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        """Take the rebase back: the branch and the files are what they were before it.

        Where somebody has committed to the branch since, it stays as it is, and a sentence that says so is returned.
        """
        return await asyncio.to_thread(self._give_up, runtime, work)

    async def accept(self, runtime: PlanRuntime, work: TodoWork) -> str:
        """Return the new tip of the branch."""
        return await asyncio.to_thread(self._accept, runtime, work)

    async def push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        """Push the rebased branch if the remote still has what was rebased; else begin again on what it has now."""
        return await asyncio.to_thread(self._push, runtime, work)

    async def _judge(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport) -> None:
        """Commit what a worker's run comes to, which is inspected as that of any other worker."""
        report, conflict = await asyncio.to_thread(self._inspect, runtime, work, report)
        parts = conflict_results.judge(context(runtime), work, report, conflict)
        step = parts.get("work")
        if step is not None and step.verdict == "parked":
            parts = work_results.with_remark(parts, await self.give_up(runtime, work))
        await self.workers.conclude(runtime, work, report, parts)

    async def _rebased(self, runtime: PlanRuntime, work: TodoWork, done: RebaseDone) -> DecisionParts:
        """Return what a rebase that is done comes to; one that was done before may still have to be pushed."""
        unpushed = await asyncio.to_thread(rewritten.read, self.changes.repo, runtime.plan.branch)
        if done.old == done.tip == work.base and unpushed is None:
            return work_results.nothing_to_do(work, f"The branch is up to date with {runtime.base}.", None)
        summary = f"Rebased onto {runtime.base}: the branch is at {done.tip[:12]}."
        return work_results.changed(work, tree=done.tip, summary=summary, message=None, notes=None, todos=work.todos)

    def _commit(self, runtime: PlanRuntime, parts: DecisionParts) -> None:
        """Commit a step to the store of now: the plan may have been opened anew while its parts were awaited."""
        runtime.event_store.commit("work", "prloom", **parts)

    # ---- in a thread

    def _go_on(self, runtime: PlanRuntime, work: TodoWork) -> RebaseDone | RebaseStopped:
        """Begin the rebase, or go on with the one that has stopped; the clone has the files of what that comes to."""
        repo, folder, branch = self.changes.repo, runtime.folders.worktree, runtime.plan.branch
        rebase.end_earlier_versions(repo, folder, branch, junk=runtime.rules.config.work.junk)
        commits.recover(repo, folder, branch=branch)
        done, sign = None, signing.wanted(repo, runtime.rules.config.work.sign)
        if work.tree is not None:
            done = rebase.continue_(repo, folder, branch, given=work.tree, sign=sign)
        if done is None:
            done = rebase.start(repo, folder, branch, onto=_base_tip(repo, runtime), sign=sign)
        if isinstance(done, RebaseDone):
            self.changes.fill_clone(runtime, done.tip)
        elif clone.filled_with(repo, runtime.folders.clone) != done.given:  # else a failed attempt has left something
            self.changes.fill_clone(runtime, done.head, tree=done.given)
        return done

    def _inspect(
        self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport
    ) -> tuple[WorkerReport, RebaseConflict]:
        """Return the report with what the run changed in the files that it was given, and what is left to resolve."""
        repo, stop = self.changes.repo, rebase_stop.read(self.changes.repo, work.tree or "")
        if stop is None:
            raise WorkspaceError(f"the conflict of the TODO {work.id} is not known any more")
        if report.end == "interrupted":
            return report, RebaseConflict(base=runtime.base, paths=stop.paths)
        found = self.changes.inspect_files(runtime, report, since=stop.given)
        left = rebase_stop.unresolved(repo, stop, found.tree)
        resolution = rebase_stop.resolution(repo, stop, found.tree)
        return found, RebaseConflict(base=runtime.base, paths=stop.paths, left=left, resolution=resolution)

    def _accept(self, runtime: PlanRuntime, work: TodoWork) -> str:
        commits.recover(self.changes.repo, runtime.folders.worktree, branch=runtime.plan.branch)
        return work.tree or ""

    def _give_up(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        repo, folder, branch = self.changes.repo, runtime.folders.worktree, runtime.plan.branch
        rebase_stop.forget(repo, branch)
        tip, made = repository.branch_sha(repo, branch), rewritten.read(repo, branch)
        if work.base is None or tip in {None, work.base}:
            return None
        assert tip is not None  # noqa: S101 - it was looked at above
        if made is None or made.new != tip:
            return work_results.stays(self._since(made, tip))
        commits.advance(repo, folder, branch, to=work.base, expected=tip)
        rewritten.take_back(repo, branch, work.base)
        return None

    def _since(self, made: Rewrite | None, tip: str) -> tuple[str, ...]:
        """Return the commits that were made after a rebase, the newest first; the tip alone where that is not known."""
        repo = self.changes.repo
        if made is None or not remote.is_ancestor(repo, made.new, tip):
            return (tip,)
        return tuple(each.sha for each in commits.between(repo, made.new, tip))

    def _push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        repo, branch = self.changes.repo, runtime.plan.branch
        fetched = plan_branch.fetch(repo, branch)
        there, tip = getattr(fetched, "sha", None), work.commit or ""
        if there is None or remote.may_replace(repo, branch, there, tip):
            done = remote.push(repo, branch, tip, there)
            if isinstance(done, Rejected) and done.failure.cause != "lost_race":
                raise plan_branch.refused(done.failure)
            parts = None
            if isinstance(done, NoRemote):
                rewritten.forget(repo, branch)
                parts = work_results.not_pushed(work)
            elif isinstance(done, Pushed):
                parts = work_results.pushed(work, f"the branch is at {tip[:12]}")
            if parts is not None:
                found = commits.by_todo(repo, branch, plan=runtime.id)
                return work_results.with_moved(parts, runtime.event_store.state.done_todos, found)
        stays = self._give_up(runtime, work)  # then the preparation of the worktree says what is to be done
        parts = work_failures.race_lost(context(runtime), work, "others pushed during the rebase")
        return work_results.with_remark(parts, stays)


def _base_tip(repo: Repository, runtime: PlanRuntime) -> str:
    """Return the tip of the base: what the remote has, or the local branch where the remote never had it.

    The base of a pull request is the remote's, and no local branch takes its place. Raises BranchBlockedError where it
    was deleted, and WorkspaceError where it cannot be fetched.
    """
    base, name = runtime.base, printable(runtime.base)
    fetched = remote.fetch(repo, base)
    if isinstance(fetched, Rejected):
        raise WorkspaceError(f"the base {name} cannot be fetched from origin: {fetched.failure.reason}")
    if isinstance(fetched, Fetched) and fetched.sha is not None:
        return fetched.sha
    if isinstance(fetched, Fetched) and runtime.plan.pr_base == base:
        raise BranchBlockedError(
            f"origin has no branch {name}, into which the pull request is to be merged; "
            "restore it, or change the base of the pull request"
        )
    if isinstance(fetched, Fetched) and fetched.is_deleted:
        raise BranchBlockedError(
            f"the base {name} was deleted on origin; restore it, or set base_branch in prloom.toml"
        )
    found = repository.branch_sha(repo, base)
    if found is None:
        raise WorkspaceError(f"there is no branch {name} to rebase onto; set base_branch in prloom.toml")
    return found


def _conflict(stop: RebaseStopped, base: str) -> str:
    names = "\n".join(f"- {printable(path)}" for path in stop.paths)
    return (
        f"The rebase onto {printable(base)} has stopped because commit {stop.commit[:12]} conflicts in these files:\n"
        f"{names}\n\nResolve the conflicts in the files, and remove their marks. "
        "Do not run `git rebase`: prloom continues it."
    )
