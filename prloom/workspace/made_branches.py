"""Delete branches, such as the local ones that prloom has made for branches of the remote."""

from __future__ import annotations

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, checks, git, repository
from prloom.workspace.repository import Repository


def is_to_be_made(repo: Repository, branch: str) -> bool:
    """Whether prloom has to make a local branch for one that was fetched."""
    return repository.branch_sha(repo, branch) is None


def remove(repo: Repository, branch: str, *, merged_into: str | None = None) -> str:
    """Remove a branch, unless it has commits that the remote lacks; return what became of it, as a sentence.

    Commits count as the remote's, too, if the commit `merged_into` has all that they change.
    """
    try:
        kept = _why_kept(repo, branch, merged_into)
    except WorkspaceError as error:
        kept = str(error)
    if kept is not None:
        return f"Its local branch {printable(branch)} stays: {kept}."
    return f"Its local branch {printable(branch)}, which prloom had made, is removed."


def _why_kept(repo: Repository, branch: str, merged_into: str | None) -> str | None:
    """Return why a branch stays; None where it was removed. Raises WorkspaceError."""
    sha = repository.branch_sha(repo, branch)
    if sha is None:
        return None
    for other in (repository.main_checkout(repo), *checkout.linked(repo.git_dir)):
        if checkout.has_branch(other, branch):
            return f"it is checked out in {printable(str(other.path))}"
    missing = git.run(["rev-list", "--abbrev-commit", sha, "--not", "--remotes"], cwd=repo.root).out.split()
    if missing and (merged_into is None or not checks.is_contained(repo.root, sha, merged_into)):
        return f"origin lacks its commits {checks.some(missing)}"
    delete(repo, branch, sha)
    return None


def delete(repo: Repository, branch: str, sha: str) -> None:
    """Delete a branch that leads to this commit, with its configuration; raises WorkspaceError where it has moved."""
    git.run(["update-ref", "-d", f"refs/heads/{branch}", sha], cwd=repo.root)
    git.run(["config", "--remove-section", f"branch.{branch}"], cwd=repo.root, codes=(0, 128))
