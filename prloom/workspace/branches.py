"""Make the branch of a new plan, and know whether there is one of its name."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import git, new_branches, remote, repository
from prloom.workspace.remote import NoRemote, Rejected

if TYPE_CHECKING:
    from prloom.workspace.repository import Repository

_REMOTE_LIMIT = timedelta(seconds=30)


class OriginUnreadableError(WorkspaceError):
    """What origin has is not known: a later try may succeed."""


def create(repo: Repository, branch: str, sha: str) -> None:
    """Make a local branch at a commit; raises WorkspaceError where there is one of its name, which stays as it is.

    It is noted as new until `worktree.create` has made its worktree, and nothing is known of one at the remote: what
    was noted is of an earlier branch of this name.
    """
    new_branches.note(repo, branch, sha)
    remote.forget(repo, branch)
    git.run(["update-ref", f"refs/heads/{branch}", sha, "0" * len(sha)], cwd=repo.root)


def in_the_way(repo: Repository, branch: str) -> str | None:
    """Return a branch beside which git cannot have this one: `a` beside `a/b`; None where there is none."""
    parts = branch.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts))]
    asked = [f"refs/heads/{branch}/", *(f"refs/heads/{each}" for each in above)]
    listed = git.run(["for-each-ref", "--format=%(refname)", *asked], cwd=repo.root).out.splitlines()
    found = [name.removeprefix("refs/heads/") for name in listed]
    return next((each for each in found if each in above or each.startswith(f"{branch}/")), None)


def base_sha(repo: Repository, base: str) -> str:
    """Return the commit that a new branch begins from: the base as it was last fetched from origin, else the local one.

    Raises WorkspaceError where there is neither.
    """
    found = repository.remote_sha(repo, base) or repository.branch_sha(repo, base)
    if found is None and not repository.has_commits(repo):
        raise WorkspaceError(repository.without_commits(repo.root))
    if found is None:
        raise WorkspaceError(
            f"there is no branch {printable(base)} to begin from, neither here nor fetched from origin; "
            f"fetch it with `git fetch`, or name another one as `base:`"
        )
    return found


def fetch_base(repo: Repository, base: str) -> str:
    """Fetch the base and return the commit that a new branch begins from: that of origin, else the local one.

    Raises OriginUnreadableError where it is not known what origin has, and WorkspaceError where there is no such one.
    """
    fetched = remote.fetch(repo, base)
    if isinstance(fetched, NoRemote):
        return base_sha(repo, base)
    if isinstance(fetched, Rejected):
        reason = fetched.failure.reason
        raise OriginUnreadableError(f"the base {printable(base)} cannot be fetched from origin: {reason}")
    found = fetched.sha or repository.branch_sha(repo, base)
    if found is None:
        raise WorkspaceError(
            f"there is no branch {printable(base)} to begin from, neither here nor at origin; "
            "name another one as `base:`"
        )
    return found


def where_taken(repo: Repository, branch: str) -> str | None:
    """Return where there is a branch of this name already: here, or at origin; None if it is free.

    Origin is asked. Where it does not answer, what was fetched last is all that is known.
    """
    if repository.branch_sha(repo, branch) is not None:
        return "here"
    if repository.remote_sha(repo, branch) is not None:
        return "at origin"
    if repository.origin_url(repo) is None:
        return None
    asked = ["ls-remote", "--heads", "--end-of-options", "origin", f"refs/heads/{branch}"]
    try:
        listed = git.run(asked, cwd=repo.root, limit=_REMOTE_LIMIT).out
    except WorkspaceError:
        return None
    if any(line.endswith(f"\trefs/heads/{branch}") for line in listed.splitlines()):
        return "at origin"
    return None
