"""Make the branch of a new plan, and know whether there is one of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import git, ref_names, remote, repository
from prloom.workspace.remote import NoRemote, Rejected

if TYPE_CHECKING:
    from prloom.workspace.repository import Repository


class OriginUnreadableError(WorkspaceError):
    """What origin has is not known: a later try may succeed."""


def create(repo: Repository, branch: str, sha: str) -> None:
    """Make a local branch at a commit; raises WorkspaceError where there is one of its name, which stays as it is.

    It is noted as new until `worktree.create` has made its worktree, and nothing is known of one at the remote: what
    was noted is of an earlier branch of this name.
    """
    remote.forget(repo, branch)
    git.run(["update-ref", f"refs/heads/{branch}", sha, "0" * len(sha)], cwd=repo.root)


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


@dataclass(frozen=True)
class Obstacle:
    """A branch because of which another one cannot be made: one of the same name, or a name that git cannot add.

    `where` is "here" or "at origin".
    """

    branch: str
    where: str


def obstacle(repo: Repository, branch: str) -> Obstacle | None:
    """Return what keeps a branch of this name from being made and pushed; None if it is free.

    Origin is asked. Where it does not answer, what was fetched last is all that is known.
    """
    if repository.branch_sha(repo, branch) is not None:
        return Obstacle(branch, "here")
    if repository.remote_sha(repo, branch) is not None:
        return Obstacle(branch, "at origin")
    for other in ref_names.beside(repo.root, branch):
        return Obstacle(other, "here")
    if repository.origin_url(repo) is None:
        return None
    try:
        listed = ref_names.listed_at(repo.root, branch, "origin")
    except WorkspaceError:
        return None
    return next((Obstacle(each, "at origin") for each in listed), None)
