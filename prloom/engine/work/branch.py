"""Bring a plan's branch up to what the remote has, and push it: never over what others pushed."""

from __future__ import annotations

from prloom.core.text.naming import printable
from prloom.core.work import push_results, work_results
from prloom.core.work.push_results import Failure
from prloom.core.work.work_failures import MOST_RACES
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import lost_branch
from prloom.engine.work.branch_errors import BranchBlockedError, PushRefusedError
from prloom.errors import WorkspaceError
from prloom.workspace import integrate, remote, signing
from prloom.workspace.integrate import CommitConflict, FastForwarded, PeoplesCommits, Rebased
from prloom.workspace.remote import Fetched, NoRemote, Pushed, Rejected
from prloom.workspace.repository import Repository


def refused(failure: Failure) -> WorkspaceError:
    """Return the error of a push that the remote did not take."""
    text = f"origin does not take the push: {failure.reason}"
    if push_results.is_by_rule(failure):
        return BranchBlockedError(f"{text}; correct what its rules name, or change them")
    if failure.retryable:
        return WorkspaceError(text)
    return PushRefusedError(text)


def update(repo: Repository, runtime: PlanRuntime) -> str | None:
    """Fetch the plan's branch, bring what others pushed into it, and return in a sentence what was done, if anything.

    Raises BranchBlockedError where that needs a person, and WorkspaceError where the remote cannot be reached.
    """
    fetched = fetch(repo, runtime.plan.branch)
    if isinstance(fetched, NoRemote):
        return None
    return _bring_in(repo, runtime, fetched)


def fetch(repo: Repository, branch: str) -> Fetched | NoRemote:
    """Fetch the branch, and return what the remote has of it.

    Raises BranchBlockedError where it was deleted there, since prloom does not restore what a person has removed, and
    WorkspaceError where the remote cannot be reached.
    """
    fetched = remote.fetch(repo, branch)
    if isinstance(fetched, Rejected):
        raise WorkspaceError(f"origin cannot be read: {fetched.failure.reason}")
    if isinstance(fetched, Fetched) and fetched.is_deleted:
        raise BranchBlockedError(f"branch {printable(branch)} was deleted on origin; push it again, or forget the plan")
    return fetched


def _bring_in(repo: Repository, runtime: PlanRuntime, fetched: Fetched) -> str | None:
    """Bring what was fetched into the plan's branch, and return in a sentence what was done, if anything."""
    if fetched.sha is None:
        return None
    done = integrate.integrate(
        repo,
        runtime.folders.worktree,
        runtime.plan.branch,
        theirs=fetched.sha,
        before=fetched.before,
        sign=signing.wanted(repo, runtime.rules.config.work.sign),
    )
    return _described(done, runtime.plan.branch)


def _described(done: integrate.Integrated, branch: str) -> str | None:
    name = printable(branch)
    match done:
        case FastForwarded(tip=tip):
            return f"the branch was moved to {tip[:12]}, which others pushed"
        case Rebased(new=new):
            return f"{len(new)} commits of prloom were put on what others pushed"
        case CommitConflict(commit=commit, paths=paths):
            raise BranchBlockedError(
                f"commit {commit[:12]} of branch {name} conflicts with what others pushed in "
                f"{work_results.named(paths)}; rebase it by hand in the plan's worktree"
            )
        case PeoplesCommits(commits=commits):
            raise BranchBlockedError(
                f"branch {name} and origin's differ, and commits of people would have to be rewritten "
                f"({', '.join(each[:12] for each in commits[:5])}); bring them together by hand in the plan's worktree"
            )
        case _:
            return None


def push(repo: Repository, runtime: PlanRuntime) -> str | None:
    """Push the branch, with what others pushed meanwhile beneath it; return in a sentence what was done.

    Returns None, and pushes nothing, where there is no remote.

    A push that loses a race is tried again, each time on what the remote has by then. Raises as `update` does, also
    where it loses too many, and WorkspaceError where the remote does not take the push.
    """
    branch, lost = runtime.plan.branch, ""
    for _ in range(MOST_RACES):
        fetched = fetch(repo, branch)
        if isinstance(fetched, NoRemote):
            return None
        _bring_in(repo, runtime, fetched)
        tip = lost_branch.tip(repo, runtime)
        done = remote.push(repo, branch, tip, fetched.sha)
        if isinstance(done, Pushed):
            return f"pushed {tip[:12]} to origin"
        if isinstance(done, Rejected) and done.failure.cause != "lost_race":
            raise refused(done.failure)
        if isinstance(done, Rejected):
            lost = f" ({done.failure.reason})"
    raise BranchBlockedError(
        f"origin's branch {printable(branch)} moved {MOST_RACES} times during the push{lost}; what prloom committed "
        "is kept on the local branch"
    )
