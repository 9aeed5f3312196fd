"""Give each run a commit that workers on other machines can fetch, and have the remote forget it afterwards."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from prloom.core.work import run_policy
from prloom.errors import WorkspaceError
from prloom.workspace import bundle, checkout, remote, repository, run_refs
from prloom.workspace.repository import Repository

log = logging.getLogger(__name__)


class RunCommits:
    """Knows the commits of runs; where the exchange is not `shared` with other machines, nothing is pushed.

    `address` is that of the remote `origin`, or the path of the checkout where it has none. It has no credentials in
    it: it goes into the run's folder, where the agent can read it, and to other machines.
    """

    def __init__(self, root: Path, *, shared: bool) -> None:
        self._root = root
        self.shared = shared
        self._published: set[str] = set()
        self._repository: Repository | None = None
        self.address = self._address()

    def _address(self) -> str:
        try:
            origin = repository.origin_address(self._repo) or str(self._root)
        except WorkspaceError:
            return str(self._root)
        return run_policy.without_credentials(origin)

    @property
    def _repo(self) -> Repository:
        if self._repository is None:
            self._repository = repository.find(self._root)
        return self._repository

    async def of_worker(self, plan: str, *, base: str, tree: str | None) -> str | None:
        """Return the commit with which a worker's run begins: `base`, or a commit with `tree` on it.

        Where the exchange is shared, it is None if only this machine can do the run. Raises WorkspaceError where the
        remote does not take the commit.
        """
        if not self.shared:
            return base
        return await asyncio.to_thread(self._begin, run_refs.ref(plan), base, tree)

    async def of_other(self, plan: str, run: str, worktree: Path) -> str | None:
        """Return the commit that the run of another stage looks at.

        Where the exchange is shared, it is None if only this machine can do the run.
        """
        if not self.shared:
            return await asyncio.to_thread(_checked_out, worktree)
        try:
            return await asyncio.to_thread(self._of_worktree, run_refs.ref(plan, run), worktree)
        except WorkspaceError as error:
            log.warning("plan %s: run %s is done on this machine: %s", plan, run, error)
            return None

    async def of_review(self, plan: str, run: str, *, base: str, tree: str | None) -> str | None:
        """Return the commit that the run of a reviewer looks at: a commit with `tree` on `base`.

        Where the exchange is shared, it is None if only this machine can do the run.
        """
        if not self.shared:
            return base
        try:
            return await asyncio.to_thread(self._begin, run_refs.ref(plan, run), base, tree)
        except WorkspaceError as error:
            log.warning("plan %s: run %s is done on this machine: %s", plan, run, error)
            return None

    async def forget_worker(self, plan: str, run: str, *, found: bool) -> None:
        """Have the remote forget the commit of a worker's run that is over, and forget its bundle.

        Of a run that was `found`, it is not known whether the remote keeps anything. What fails is logged.
        """
        if not self.shared:
            return
        if found:
            self._published.add(run_refs.ref(plan))
        await self._forget(plan, run, run_refs.ref(plan))

    async def forget_other(self, plan: str, run: str) -> None:
        """Have the remote forget the commit of another stage's run that is over; what fails is logged."""
        if self.shared:
            await self._forget(plan, run, run_refs.ref(plan, run))

    async def _forget(self, plan: str, run: str, ref: str) -> None:
        try:
            await asyncio.to_thread(self._forget_now, run, ref)
        except WorkspaceError as error:
            log.warning("plan %s: what the remote keeps for run %s cannot be removed: %s", plan, run, error)

    def _begin(self, ref: str, base: str, tree: str | None) -> str | None:
        if not remote.has(self._repo):
            return None
        commit = base
        if tree is not None:
            commit = run_refs.commit_tree(self._repo, base=base, tree=tree)
        if not run_refs.is_at_remote(self._repo, commit):
            run_refs.publish(self._repo, ref, commit)
            self._published.add(ref)
        return commit

    def _of_worktree(self, ref: str, worktree: Path) -> str | None:
        found = checkout.at(worktree.resolve())
        if found is None:
            return None
        return self._begin(ref, checkout.head(found), None)

    def _forget_now(self, run: str, ref: str) -> None:
        bundle.drop(self._repo, run)
        if ref in self._published:
            run_refs.withdraw(self._repo, ref)
            self._published.discard(ref)


def _checked_out(worktree: Path) -> str | None:
    """Return the commit of a worktree, None where it has none."""
    found = checkout.at(worktree.resolve())
    if found is None:
        return None
    try:
        return checkout.head(found)
    except WorkspaceError:
        return None
