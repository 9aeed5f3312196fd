"""Send a TODO's state to other machines with a run, and take over what comes back: inspected before it is applied."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from prloom.agents import run_folder, run_message
from prloom.agents.run_message import RunReply
from prloom.core.text.naming import printable
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.runs.run_commits import RunCommits
from prloom.engine.work import change_rules
from prloom.engine.work.change import Changes
from prloom.errors import AgentError, WorkspaceError
from prloom.model.work import TodoWork
from prloom.workspace import bundle, git, snapshot
from prloom.workspace.bundle import BundleError
from prloom.workspace.git_errors import GitSystemError

_LONGEST = 500
_MOST = 20


@dataclass
class ReceivedChanges:
    """Knows with which commit a worker's run begins, and applies the change that another machine has made on it."""

    commits: RunCommits
    changes: Changes

    async def begin(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        """Return the commit with which the run of a TODO's worker begins.

        Where the exchange is shared, it is None if only this machine can do the run.
        What a failed attempt has left goes with it, as a commit. If it must not be pushed, it is kept beside the branch
        instead, and the run begins without it.
        """
        assert work.base is not None  # noqa: S101 - set when the worktree was prepared
        if not self.commits.shared:
            return work.base
        if work.rebase:
            return None
        tree = await asyncio.to_thread(self._left, runtime, work)
        if tree is None:
            await self.changes.keep(runtime, work)
        elif tree == "":
            tree = None
        return await self.commits.of_worker(runtime.id, base=work.base, tree=tree)

    async def apply(
        self, runtime: PlanRuntime, work: TodoWork, folder: Path, reply: RunReply, report: WorkerReport
    ) -> WorkerReport:
        """Apply the change of a reply to the clone, and return the report with what is wrong with it, if anything.

        Raises WorkspaceError where nothing is known of the change because the system keeps git from its work: it is to
        be applied later.
        """
        return await asyncio.to_thread(self._apply, runtime, work, folder, reply, report)

    # ---- in a thread

    def _left(self, runtime: PlanRuntime, work: TodoWork) -> str | None:
        """Return what the worktree changes as a tree; an empty text for nothing, None for what must not be pushed."""
        taken = self.changes.take(runtime, work.base or "")
        if taken.is_empty:
            return ""
        config, secrets = runtime.rules.config.work, self.changes.secrets
        if change_rules.violations(self.changes.repo, taken, config, secrets=secrets):
            return None
        return taken.tree

    def _apply(
        self, runtime: PlanRuntime, work: TodoWork, folder: Path, reply: RunReply, report: WorkerReport
    ) -> WorkerReport:
        if reply.bundle is None:
            found = tuple(printable(each, _LONGEST) for each in reply.violations[:_MOST])
            return replace(report, violations=found)
        assert work.base is not None  # noqa: S101 - set when the worktree was prepared
        repo, run = self.changes.repo, folder.name
        try:
            commit = self._begun_with(folder, work.base)
            received = bundle.receive(repo, run_message.unpacked(reply.bundle), run=run, parent=commit)
        except (BundleError, AgentError) as error:
            return replace(report, violations=(str(error),))
        inspected = self.changes.inspected(runtime, report, snapshot.of_tree(repo, work.base, received.tree))
        if not inspected.violations:
            self.changes.fill_clone(runtime, work.base, tree=received.tree)
        return inspected

    def _begun_with(self, folder: Path, base: str) -> str:
        """Return the commit that the run's message names: the TODO's base, or a commit on it alone."""
        body = run_folder.read(folder, run_folder.MESSAGE, run_folder.LARGE)
        commit = run_message.read_message((body or b"").decode("utf-8", "replace")).commit
        if commit == base:
            return base
        if commit is None or self._parents(commit) != [base]:
            raise AgentError(f"run {folder.name} did not begin with what the TODO is based on")
        return commit

    def _parents(self, commit: str) -> list[str]:
        """Return the parents of a commit; none where it is not here any more, as after `git gc`."""
        asked = ["rev-list", "--max-count=1", "--parents", "--end-of-options", commit, "--"]
        try:
            return git.run(asked, cwd=self.changes.repo.root).out.split()[1:]
        except GitSystemError:
            raise
        except WorkspaceError:
            return []
