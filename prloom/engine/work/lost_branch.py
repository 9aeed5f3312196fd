"""Say of a plan's branch that was deleted which commit it was at, and how it comes back."""

from __future__ import annotations

from prloom.core.text.naming import printable
from prloom.core.text.shown_text import to_run
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work.branch import BranchBlockedError
from prloom.workspace import repository
from prloom.workspace.repository import Repository


def tip(repo: Repository, runtime: PlanRuntime) -> str:
    """Return the commit that the plan's branch is at; raises BranchBlockedError where it was deleted."""
    found = repository.branch_sha(repo, runtime.plan.branch)
    if found is None:
        raise BranchBlockedError(reason(repo, runtime))
    return found


def reason(repo: Repository, runtime: PlanRuntime) -> str:
    """Return why a plan whose branch was deleted is blocked, with the commands that go on."""
    name = runtime.plan.branch
    return f"branch {printable(name)} was deleted; restore it, or give the plan up with {to_run('forget', runtime.id)}"
