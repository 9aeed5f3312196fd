"""Back up what would be lost otherwise, in refs of prloom's own: the change of a failed attempt, an agent's commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prloom.workspace import git
from prloom.workspace.repository import Repository

_CHANGES, _REFS = "refs/prloom/kept", "refs/prloom/kept-refs"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_SHORT = 12
PRLOOM = {
    "GIT_AUTHOR_NAME": "prloom",
    "GIT_AUTHOR_EMAIL": "prloom@localhost",
    "GIT_COMMITTER_NAME": "prloom",
    "GIT_COMMITTER_EMAIL": "prloom@localhost",
}
"""The variables with which git commits as prloom: for commits that no branch leads to."""


@dataclass(frozen=True)
class KeptChange:
    """The change of a TODO that was not committed to its branch: the commit that keeps it, its tree, and its base."""

    sha: str
    tree: str
    base: str


def ref(todo: str) -> str:
    """Return the ref under which a TODO's change is kept."""
    return f"{_CHANGES}/{_component(todo)}"


def save(repo: Repository, *, todo: str, base: str, tree: str) -> str:
    """Keep a tree as the change of a TODO since the commit `base`, and return the commit that keeps it.

    One that was kept before becomes a parent of it, so that it is not lost; the same again changes nothing.
    """
    before = read(repo, todo)
    if before is not None and (before.tree, before.base) == (tree, base):
        return before.sha
    parents = ["-p", base]
    old = "0" * len(base)
    if before is not None:
        parents += ["-p", before.sha]
        old = before.sha
    argv = ["commit-tree", *parents, "-m", f"The change of TODO {_component(todo)}, which was not committed", tree]
    made = git.run(argv, cwd=repo.root, variables=PRLOOM).out.strip()
    git.run(["update-ref", ref(todo), made, old], cwd=repo.root)
    return made


def read(repo: Repository, todo: str) -> KeptChange | None:
    """Return what is kept of a TODO; None if nothing is."""
    asked = ["rev-parse", "--verify", "--quiet", f"{ref(todo)}^{{commit}}"]
    sha = git.run(asked, cwd=repo.root, codes=(0, 1)).out.strip()
    if not sha:
        return None
    tree, base = git.run(["rev-parse", f"{sha}^{{tree}}", f"{sha}^1"], cwd=repo.root).out.split()
    return KeptChange(sha, tree, base)


def drop(repo: Repository, todo: str) -> None:
    """Forget what is kept of a TODO, such as once it was committed."""
    found = read(repo, todo)
    if found is not None:
        git.run(["update-ref", "-d", ref(todo), found.sha], cwd=repo.root)


def keep_ref(repo: Repository, todo: str, name: str, sha: str) -> None:
    """Keep what a ref led to that is about to be moved back."""
    inner = "/".join(_component(part) for part in name.removeprefix("refs/").split("/"))
    git.run(["update-ref", f"{_REFS}/{_component(todo)}/{inner}/{sha[:_SHORT]}", sha], cwd=repo.root)


def keep_tree(repo: Repository, todo: str, base: str, tree: str) -> str:
    """Keep files that are about to be replaced, as a commit on top of `base`; return the commit."""
    argv = ["commit-tree", "-p", base, "-m", "Files that prloom replaced", tree]
    made = git.run(argv, cwd=repo.root, variables=PRLOOM).out.strip()
    keep_ref(repo, todo, "files", made)
    return made


def kept_refs(repo: Repository, todo: str) -> Iterator[tuple[str, str]]:
    """Yield the refs that lead to what was moved back while a TODO was worked on, with their commits."""
    asked = ["for-each-ref", "--format=%(refname) %(objectname)", f"{_REFS}/{_component(todo)}/"]
    for line in git.run(asked, cwd=repo.root).out.splitlines():
        name, _, sha = line.rpartition(" ")
        yield name, sha


def _component(text: str) -> str:
    """Return a text as one component of a ref's name."""
    return _UNSAFE.sub("_", text)[:100] or "_"
