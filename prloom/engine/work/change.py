"""Inspect the change that a worker made in a plan's clone, and commit it or set it apart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from prloom.core.text import secret_scan
from prloom.core.work import commit_message, work_results
from prloom.core.work.commit_message import Trailers
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import branch, change_rules, lost_branch, todo_events
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork
from prloom.storage import paths
from prloom.workspace import backup_refs, clone, commits, repository, signing, snapshot, trees
from prloom.workspace.backup_refs import KeptTodo
from prloom.workspace.clone import CloneState
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot

_OF_EARLIER_VERSIONS = ("before-run",)
"""Where an earlier version of prloom, whose workers worked in the plan's worktree, noted the state before a run."""

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

    async def prepare(self, runtime: PlanRuntime) -> tuple[str, str | None]:
        """Bring what others pushed into the plan's branch, and give the plan's clone the files of its commit.

        Return the commit, and what was brought in, as a sentence. Raises BranchBlockedError.
        """
        return await asyncio.to_thread(self._prepare, runtime)

    async def ensure_clone(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Make the plan's clone if it is gone, with what is known of the TODO's change."""
        await asyncio.to_thread(self._ensure_clone, runtime, work)

    async def inspect(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport) -> WorkerReport:
        """Return the report with what the clone changes in the TODO's base, and the rules that this breaks."""
        return await asyncio.to_thread(lambda: self.inspect_files(runtime, report, since=_base(work)))

    async def diff(self, work: TodoWork) -> str:
        """Return the inspected change as a unified diff."""
        base, tree = _inspected(work)
        return await asyncio.to_thread(lambda: trees.diff_text(self.repo, base, tree, limit_bytes=LONGEST_DIFF))

    def message(self, runtime: PlanRuntime, work: TodoWork) -> str:
        """Return the message of a TODO's commit, with its trailers."""
        return _message(runtime, work, self.secrets)

    async def found(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        """Return the commit of the inspected change, which an earlier call has made; None if there is none.

        Raises BranchMovedError where the branch is not at the TODO's base any more, or BranchBlockedError.
        """
        return await asyncio.to_thread(self._found, runtime, work)

    async def commit(self, runtime: PlanRuntime, work: TodoWork, message: str) -> str:
        """Commit exactly the inspected change, and return the commit."""
        return await asyncio.to_thread(self._commit, runtime, work, message)

    async def push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        """Push the plan's branch where there is a remote, and return what that comes to."""
        return await asyncio.to_thread(self._push, runtime, work)

    async def require_base(self, branch_name: str, work: TodoWork) -> None:
        """Raise BranchMovedError where this branch of a plan is not at the TODO's base any more."""
        base = work.base or ""
        await asyncio.to_thread(lambda: commits.require_at(self.repo, branch_name, base))

    async def keep(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Keep the change of a TODO under a ref of its own."""
        await asyncio.to_thread(self._keep, runtime, work)

    def take(self, runtime: PlanRuntime, base: str) -> WorktreeSnapshot:
        """Return what the clone changes in a commit; call it in a thread."""
        config = runtime.rules.config.work
        return snapshot.take(self.repo, runtime.folders.clone, base, junk=config.junk, max_file=config.max_file)

    def inspect_files(self, runtime: PlanRuntime, report: WorkerReport, *, since: str) -> WorkerReport:
        """Return the report with what the clone changes in a commit, and the rules that this breaks.

        Call it in a thread.
        """
        return self.inspected(runtime, report, self.take(runtime, since))

    def inspected(self, runtime: PlanRuntime, report: WorkerReport, taken: WorktreeSnapshot) -> WorkerReport:
        """Return the report with a change, and the rules that it breaks; call it in a thread."""
        found = change_rules.violations(self.repo, taken, runtime.rules.config.work, secrets=self.secrets)
        return replace(report, paths=tuple(each.path for each in taken.paths), tree=taken.tree, violations=found)

    def fill_clone(self, runtime: PlanRuntime, commit: str, *, tree: str | None = None) -> None:
        """Give the clone the files of a commit, or those of a tree on top of it; call it in a thread."""
        clone.renew(
            self.repo, runtime.folders.clone, _state(runtime, commit, tree), junk=runtime.rules.config.work.junk
        )

    # ---- in a thread

    def _prepare(self, runtime: PlanRuntime) -> tuple[str, str | None]:
        lost_branch.tip(self.repo, runtime)  # raises where the branch was deleted
        commits.recover(self.repo, runtime.folders.worktree, branch=runtime.plan.branch)
        moved = branch.update(self.repo, runtime)
        base = lost_branch.tip(self.repo, runtime)
        self.fill_clone(runtime, base)
        return base, moved

    def _ensure_clone(self, runtime: PlanRuntime, work: TodoWork) -> None:
        base, tree = _base(work), work.tree
        if clone.exists(self.repo, runtime.folders.clone):
            clone.rewrite_repository(self.repo, runtime.folders.clone, _state(runtime, base))
            return
        before = self.root.joinpath(*paths.LOCAL, *_OF_EARLIER_VERSIONS, f"{runtime.id}.json")
        if tree is None and before.is_file():
            tree = self._from_worktree(runtime, base)
        self.fill_clone(runtime, base, tree=tree)
        before.unlink(missing_ok=True)

    def _from_worktree(self, runtime: PlanRuntime, base: str) -> str | None:
        """Take out of the worktree what a worker of an earlier version of prloom has changed there, and return it."""
        folder, junk = runtime.folders.worktree, runtime.rules.config.work.junk
        taken = snapshot.take(self.repo, folder, base, junk=junk)
        if taken.is_empty:
            return None
        commits.restore(self.repo, folder, base, branch=runtime.plan.branch, junk=junk)
        return taken.tree

    def _found(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        base, tree = _inspected(work)
        name = runtime.plan.branch
        commits.recover(self.repo, runtime.folders.worktree, branch=name)
        found = commits.find(self.repo, name, plan=runtime.id, todo=work.id, base=base, round_=work.round, tree=tree)
        if found is None:
            lost_branch.tip(self.repo, runtime)
            commits.require_at(self.repo, name, base)
        return found

    def _commit(self, runtime: PlanRuntime, work: TodoWork, message: str) -> str:
        base, tree = _inspected(work)
        name, folder = runtime.plan.branch, runtime.folders.worktree
        sign = signing.wanted(self.repo, runtime.rules.config.work.sign)
        return commits.commit(self.repo, folder, tree=tree, parent=base, message=message, branch=name, sign=sign)

    def _push(self, runtime: PlanRuntime, work: TodoWork) -> DecisionParts:
        assert work.commit is not None  # noqa: S101 - set when it was committed
        commits.recover(self.repo, runtime.folders.worktree, branch=runtime.plan.branch)
        text = branch.push(self.repo, runtime)
        # What others pushed may have made another commit of it; its trailers say which, also after a crash.
        found = commits.by_todo(self.repo, runtime.plan.branch, plan=runtime.id)
        backup_refs.drop(self.repo, KeptTodo(runtime.id, work.id))
        if text is None:
            return work_results.not_pushed(work)
        parts = work_results.pushed(work, text, commit=found.get(work.id))
        return work_results.with_moved(parts, runtime.event_store.state.done_todos, found)

    def _keep(self, runtime: PlanRuntime, work: TodoWork) -> None:
        if work.base is None or not clone.exists(self.repo, runtime.folders.clone):
            return
        taken = self.take(runtime, work.base)
        if not taken.is_empty:
            backup_refs.save(self.repo, KeptTodo(runtime.id, work.id), base=work.base, tree=taken.tree)


def _state(runtime: PlanRuntime, commit: str, tree: str | None = None) -> CloneState:
    """Return what the plan's clone is to have."""
    folder = runtime.folders.worktree
    return CloneState(branch=runtime.plan.branch, commit=commit, tree=tree, base=runtime.base, like=folder)


def _base(work: TodoWork) -> str:
    """Return the commit that a change is made on."""
    assert work.base is not None  # noqa: S101 - set when the clone was prepared
    return work.base


def _inspected(work: TodoWork) -> tuple[str, str]:
    """Return the commit that a change is made on, and the change as a tree."""
    assert work.tree is not None  # noqa: S101 - set when the change was inspected
    return _base(work), work.tree


def _message(runtime: PlanRuntime, work: TodoWork, secrets: Mapping[str, str]) -> str:
    approved_by = todo_events.approved_by(runtime.issued, work.id)
    trailers = Trailers(plan=runtime.id, todo=work.id, round=work.round, events=work.event_ids, approved_by=approved_by)
    said = secret_scan.masked(work.message or "", secrets)
    return commit_message.write(said, title=secret_scan.masked(work.title, secrets), trailers=trailers)
