"""Find the branch that a plan is to be merged into, as the remote has it now."""

from __future__ import annotations

from prloom.core.text.naming import printable
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work.branch_errors import BranchBlockedError
from prloom.errors import WorkspaceError
from prloom.workspace import remote, repository
from prloom.workspace.remote import Fetched, Rejected
from prloom.workspace.repository import Repository


def tip(repo: Repository, runtime: PlanRuntime) -> str:
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
