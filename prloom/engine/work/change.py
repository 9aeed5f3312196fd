"""Inspect the change that a worker made in a plan's worktree, and commit it or set it apart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from prloom.agents.agent import Remote
from prloom.core.text import secret_scan
from prloom.core.work import commit_message, repository_changes, work_results
from prloom.core.work.commit_message import Trailers
from prloom.core.work.repository_changes import RepositoryState
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.engine.work import before_run, branch, change_rules, lost_branch, todo_events
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork
from prloom.workspace import (
    backup_refs,
    commits,
    remote,
    repository,
    repository_state,
    snapshot,
    trees,
    undo,
    worktree,
)
from prloom.workspace.backup_refs import KeptTodo
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot

LONGEST_DIFF = 1_000_000
"""Bytes of a change that reviewers and hooks are shown."""


@dataclass
class Changes:
    """Looks at and moves what workers change, by git; every call runs git beside the event loop."""

    root: Path
    environ: Mapping[str, str]

    def __post_init__(self) -> None:
        self._repository: Repository | None = None
        self.secrets = secret_scan.environment_secrets(self.environ)

    @property
    def repo(self) -> Repository:
        """The repository of the operator's checkout."""
        if self._repository is None:
            self._repository = repository.find(self.root)
        return self._repository

    async def head(self, folders: PlanFolders) -> str:
        """Return the commit that is checked out in the plan's worktree."""
        return await asyncio.to_thread(lambda: worktree.head(self.repo, folders.worktree))

    async def update(self, runtime: PlanRuntime) -> str | None:
        """Bring what others pushed into the plan's branch, and say what that was; raises BranchBlockedError."""
        return await asyncio.to_thread(branch.update, self.repo, runtime)

    async def uncommitted(self, runtime: PlanRuntime, base: str) -> tuple[str, ...]:
        """Return the paths that the worktree changes in a commit, junk left out.

        A move of the worktree to another commit that was broken off is ended first: its files are no one's change.
        """
        await asyncio.to_thread(self._recover, runtime)
        taken = await asyncio.to_thread(self._take, runtime, base)
        return tuple(each.path for each in taken.paths)

    async def inspect(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport) -> WorkerReport:
        """Return the report with what the worktree changes, and the rules that this breaks."""
        return await asyncio.to_thread(self._inspect, runtime, work, report)

    async def diff(self, work: TodoWork) -> str:
        """Return the inspected change as a unified diff."""
        base, tree = _inspected(work)
        return await asyncio.to_thread(lambda: trees.diff_text(self.repo, base, tree, limit_bytes=LONGEST_DIFF))

    async def commit(self, runtime: PlanRuntime, work: TodoWork) -> str:
        """Commit exactly the inspected change, and return the commit; one that is there already is found again."""
        message = _message(runtime, work, self.secrets)
        return await asyncio.to_thread(self._commit, runtime, work, message)

    async def push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        """Push the plan's branch where there is a remote, and return what that comes to."""
        return await asyncio.to_thread(self._push, runtime, work)

    async def require_base(self, branch_name: str, work: TodoWork) -> None:
        """Raise BranchMovedError where this branch of a plan is not at the TODO's base any more."""
        base = work.base or ""
        await asyncio.to_thread(lambda: commits.require_at(self.repo, branch_name, base))

    async def keep(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Keep the change of a TODO under a ref of its own, and leave the worktree clean, as the branch has it."""
        await asyncio.to_thread(self._keep, runtime, work)

    async def record_repository(self, runtime: PlanRuntime) -> tuple[Remote, ...]:
        """Remember the repository before a worker runs, so that what it moves is found; return the remotes."""
        return await asyncio.to_thread(self._record, runtime)

    def take(self, runtime: PlanRuntime, work: TodoWork) -> WorktreeSnapshot:
        """Return what the worktree changes in the TODO's base; call it in a thread."""
        assert work.base is not None  # noqa: S101 - set when the worktree was prepared
        return self._take(runtime, work.base)

    def undo(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport) -> WorkerReport:
        """Undo what the run did outside the worktree; return the report with that. Call it in a thread."""
        before = before_run.load(self.root, runtime.id)
        if before is None:
            return report
        outside = self._undo(runtime, work, before)
        return replace(report, violations=outside, remark=self._moved_refs(before))

    def inspect_files(self, runtime: PlanRuntime, report: WorkerReport, *, since: str) -> WorkerReport:
        """Return the report with what the worktree changes in a commit, and the rules that this breaks.

        What the report says was done outside the worktree stays in it. Call it in a thread.
        """
        config = runtime.rules.config.work
        taken = self._take(runtime, since)
        found = change_rules.violations(self.repo, taken, config, outside=report.violations, secrets=self.secrets)
        return replace(report, paths=tuple(each.path for each in taken.paths), tree=taken.tree, violations=found)

    # ---- in a thread

    def _recover(self, runtime: PlanRuntime) -> None:
        name, junk = runtime.plan.branch, runtime.rules.config.work.junk
        commits.recover(self.repo, runtime.folders.worktree, branch=name, junk=junk)

    def _record(self, runtime: PlanRuntime) -> tuple[Remote, ...]:
        state = repository_state.record(self.repo, runtime.folders.worktree)
        state = msgspec.structs.replace(state, remote_refs=remote.refs(self.repo))
        before_run.save(self.root, runtime.id, state)
        return before_run.remotes(state)

    def _undo(self, runtime: PlanRuntime, work: TodoWork, before: RepositoryState) -> tuple[str, ...]:
        """Undo what the run moved outside the files of the worktree, and return what a worker must not have done."""
        name = runtime.plan.branch
        found = repository_state.since(self.repo, runtime.folders.worktree, before, branch=name)
        undo.undo(self.repo, runtime.folders.worktree, before, branch=name, todo=work.id, found=found)
        return tuple(each.text for each in found if each.is_violation)

    def _moved_refs(self, before: RepositoryState) -> str | None:
        """Return a sentence about what origin has otherwise than before the run; None where nothing is known of it."""
        if before.remote_refs is None:
            return None
        now = remote.refs(self.repo)
        if now is None or now == before.remote_refs:
            return None
        return repository_changes.moved_on_remote(before.remote_refs, now, remote.all_noted(self.repo))

    def _take(self, runtime: PlanRuntime, base: str) -> WorktreeSnapshot:
        config = runtime.rules.config.work
        return snapshot.take(self.repo, runtime.folders.worktree, base, junk=config.junk, max_file=config.max_file)

    def _inspect(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport) -> WorkerReport:
        assert work.base is not None  # noqa: S101 - set when the worktree was prepared
        return self.inspect_files(runtime, self.undo(runtime, work, report), since=work.base)

    def _commit(self, runtime: PlanRuntime, work: TodoWork, message: str) -> str:
        base, tree = _inspected(work)
        name, folder, junk = runtime.plan.branch, runtime.folders.worktree, runtime.rules.config.work.junk
        found = commits.find(self.repo, name, plan=runtime.id, todo=work.id, base=base, round_=work.round, tree=tree)
        if found is not None:
            commits.restore(self.repo, folder, found, branch=name, junk=junk)
            return found
        return commits.commit(
            self.repo,
            folder,
            tree=tree,
            parent=base,
            message=message,
            branch=name,
            junk=junk,
            hooks=runtime.rules.config.work.git_hooks,
        )

    def _push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        assert work.commit is not None  # noqa: S101 - set when it was committed
        self._recover(runtime)  # bringing in what others pushed may have been broken off before
        text = branch.push(self.repo, runtime)
        # What others pushed may have made another commit of it; its trailers say which, also after a crash.
        found = commits.by_todo(self.repo, runtime.plan.branch, plan=runtime.id)
        backup_refs.drop(self.repo, KeptTodo(runtime.id, work.id))
        if text is None:
            return work_results.not_pushed(work)
        parts = work_results.pushed(work, text, commit=found.get(work.id))
        return work_results.with_moved(parts, runtime.event_store.state.done_todos, found)

    def _keep(self, runtime: PlanRuntime, work: TodoWork) -> None:
        if work.base is None:
            return
        name, todo = runtime.plan.branch, KeptTodo(runtime.id, work.id)
        tip = lost_branch.tip(self.repo, runtime)
        taken = self._take(runtime, tip)
        if tip != work.base and work.tree is not None:  # somebody else moved the branch, and theirs is no part of it
            backup_refs.save(self.repo, todo, base=work.base, tree=work.tree)
            if not taken.is_empty:
                backup_refs.keep_tree(self.repo, work.id, tip, taken.tree)
        elif not taken.is_empty:
            backup_refs.save(self.repo, todo, base=tip, tree=taken.tree)
        junk = runtime.rules.config.work.junk
        commits.restore(self.repo, runtime.folders.worktree, tip, branch=name, junk=junk)


def _inspected(work: TodoWork) -> tuple[str, str]:
    """Return the commit that a change is made on, and the change as a tree."""
    assert work.base is not None  # noqa: S101 - set when the worktree was prepared
    assert work.tree is not None  # noqa: S101 - set when the change was inspected
    return work.base, work.tree


def _message(runtime: PlanRuntime, work: TodoWork, secrets: Mapping[str, str]) -> str:
    approved_by = todo_events.approved_by(runtime.issued, work.id)
    trailers = Trailers(plan=runtime.id, todo=work.id, round=work.round, events=work.event_ids, approved_by=approved_by)
    said = secret_scan.masked(work.message or "", secrets)
    return commit_message.write(said, title=secret_scan.masked(work.title, secrets), trailers=trailers)
