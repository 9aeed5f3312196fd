"""Fetch what a pull request leads to."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from prloom.core.naming import is_branch_name, printable
from prloom.errors import WorkspaceError
from prloom.workspace import git

if TYPE_CHECKING:
    from prloom.workspace.repository import Repository

LIMIT = timedelta(minutes=10)


def pull_request(repo: Repository, *, branch: str, ref: str | None, number: int, fork: bool) -> str:
    """Fetch a pull request's head from origin, and return the name of the branch to look after.

    A branch of origin's own keeps its name. The head of a fork is at origin only under a ref of the forge's, `ref`, and
    becomes the branch `pr/<number>`, which is for reading: nothing can be pushed there. Raises WorkspaceError.
    """
    if fork:
        name = f"pr/{number}"
    else:
        name = branch
    if fork:
        source = ref
    else:
        source = f"refs/heads/{branch}"
    if not is_branch_name(name) or source is None or not is_branch_name(source):
        raise WorkspaceError(
            f"the head of #{number}, {printable(branch)}, cannot be fetched: its name is not a valid name for a branch"
        )
    git.run(
        ["fetch", "--quiet", "--no-tags", "--end-of-options", "origin", f"+{source}:refs/remotes/origin/{name}"],
        cwd=repo.root,
        limit=LIMIT,
    )
    return name
