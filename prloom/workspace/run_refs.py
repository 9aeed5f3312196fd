"""Have the remote keep a commit for as long as a run on another machine needs it, under `refs/prloom/runs/<plan>`.

No branch leads there, and no one but the machine is told of it. It is needed for commits that were not pushed yet, and
for what a failed attempt has left in the plan's worktree.
"""

from __future__ import annotations

import re

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, bundle, git
from prloom.workspace.remote import ORIGIN
from prloom.workspace.repository import FETCH_LIMIT, Repository

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 100


def ref(plan: str, run: str | None = None) -> str:
    """Return the ref of the remote under which a plan's commit is kept: for its worker, or else for another run."""
    name = f"{bundle.REFS}/{_UNSAFE.sub('_', plan)[:_LONGEST] or '_'}"
    if run is None:
        return name
    return f"{name}+{_UNSAFE.sub('_', run)[:_LONGEST]}"


def is_at_remote(repo: Repository, commit: str, *, remote: str = ORIGIN) -> bool:
    """Whether a branch of the remote, as it was last fetched, leads to a commit."""
    asked = ["rev-list", "--max-count=1", commit, "--not", f"--remotes={remote}", "--"]
    return not git.run(asked, cwd=repo.root).out.strip()


def commit_tree(repo: Repository, *, base: str, tree: str, message: str = "What a run begins with") -> str:
    """Return a commit of prloom's own with this tree on `base`; the same again is the same commit."""
    variables = {**backup_refs.PRLOOM, "GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
    argv = ["commit-tree", "-p", base, "-m", message, tree]
    return git.run(argv, cwd=repo.root, variables=variables).out.strip()


def publish(repo: Repository, name: str, commit: str, *, remote: str = ORIGIN) -> None:
    """Have the remote keep a commit under a ref of `ref`, in the place of an earlier one; raises WorkspaceError."""
    before = _at_remote(repo, name, remote)
    if before != commit:
        _push(repo, f"{commit}:{name}", f"--force-with-lease={name}:{before}", remote)


def withdraw(repo: Repository, name: str, *, remote: str = ORIGIN) -> None:
    """Have the remote forget what it keeps under a ref of `ref`; nothing is no error. Raises WorkspaceError."""
    before = _at_remote(repo, name, remote)
    if before:
        _push(repo, f":{name}", f"--force-with-lease={name}:{before}", remote)


def _at_remote(repo: Repository, name: str, remote: str) -> str:
    listed = git.run(["ls-remote", "--quiet", "--end-of-options", remote, name], cwd=repo.root, limit=FETCH_LIMIT).out
    found = [line.partition("\t") for line in listed.splitlines()]
    return next((sha for sha, _, each in found if each == name), "")


def _push(repo: Repository, what: str, lease: str, remote: str) -> None:
    options = ["--porcelain", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--no-mirror", lease]
    name = printable(what.rpartition(":")[2])
    try:
        git.run(["push", *options, "--end-of-options", remote, what], cwd=repo.root, limit=FETCH_LIMIT)
    except WorkspaceError as error:
        raise WorkspaceError(f"{remote} does not keep what a run on another machine needs ({name}): {error}") from error
