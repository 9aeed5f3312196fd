"""Ask the remote which refs it has, and read where prloom itself has pushed them."""

from __future__ import annotations

from datetime import timedelta

from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.remote import NOTED, ORIGIN
from prloom.workspace.repository import Repository

_LIMIT = timedelta(seconds=30)


def listed(repo: Repository, *, remote: str = ORIGIN) -> dict[str, str] | None:
    """Return the commit of each branch and tag of the remote; None where it does not answer, or there is none."""
    asked = ["ls-remote", "--quiet", "--refs", "--heads", "--tags", "--end-of-options", remote]
    try:
        out = git.run(asked, cwd=repo.root, limit=_LIMIT).out
    except WorkspaceError:
        return None
    pairs = (line.partition("\t") for line in out.splitlines())
    return {name: sha for sha, _, name in pairs}


def own(repo: Repository) -> dict[str, str]:
    """Return the commit at which prloom last knew each branch of the remote to be, by the branch's ref there."""
    out = git.run(["for-each-ref", "--format=%(objectname) %(refname)", NOTED], cwd=repo.root).out
    pairs = (line.partition(" ") for line in out.splitlines())
    return {f"refs/heads/{name.removeprefix(NOTED)}": sha for sha, _, name in pairs}
