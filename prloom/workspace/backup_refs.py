"""Back up what would be lost otherwise, in refs of prloom's own: the change of a failed attempt, an agent's commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prloom.core.work import commit_message
from prloom.workspace import checkout, git
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
class KeptTodo:
    """The TODO of a plan whose change is kept; TODOs of several plans may have one id, such as those of one title."""

    plan: str
    id: str

    @property
    def ref(self) -> str:
        """The ref under which its change is kept."""
        return f"{self.old_ref}.{_component(self.plan)}"

    @property
    def old_ref(self) -> str:
        """The ref under which an earlier version of prloom may have kept it, or that of another plan's TODO."""
        return f"{_CHANGES}/{_component(self.id)}"


@dataclass(frozen=True)
class KeptChange:
    """The change of a TODO that was not committed to its branch: the commit that keeps it, its tree, and its base.

    `ref` leads to the commit.
    """

    sha: str
    tree: str
    base: str
    ref: str


def save(repo: Repository, todo: KeptTodo, *, base: str, tree: str) -> str:
    """Keep a tree as the change of a TODO since the commit `base`, and return the commit that keeps it.

    One that was kept before becomes a parent of it, so that it is not lost; the same again changes nothing.
    """
    before = read(repo, todo)
    if before is not None and (before.tree, before.base) == (tree, base):
        return before.sha
    parents, old = ["-p", base], "0" * len(base)
    if before is not None:
        parents += ["-p", before.sha]
        if before.ref == todo.ref:
            old = before.sha
    about = f"The change of TODO {_component(todo.id)}, which was not committed"
    message = f"{about}\n\n{commit_message.PLAN}: {_component(todo.plan)}"
    argv = ["commit-tree", *parents, "-m", message, tree]
    made = git.run(argv, cwd=repo.root, variables=PRLOOM).out.strip()
    git.run(["update-ref", todo.ref, made, old], cwd=repo.root)
    return made


def read(repo: Repository, todo: KeptTodo) -> KeptChange | None:
    """Return what is kept of a TODO; None if nothing is."""
    return next((each for plan, each in _kept(repo, todo) if plan in _owners(todo)), None)


def drop(repo: Repository, todo: KeptTodo) -> None:
    """Forget what is kept of a TODO, such as once it was committed."""
    while found := read(repo, todo):  # also that of an earlier version
        git.run(["update-ref", "-d", found.ref, found.sha], cwd=repo.root)


def _owners(todo: KeptTodo) -> tuple[str, str]:
    """Return what the plan of the TODO's kept change may be: an earlier version of prloom did not note it."""
    return _component(todo.plan), ""


def _kept(repo: Repository, todo: KeptTodo) -> list[tuple[str, KeptChange]]:
    """Return what the refs of a TODO keep, each with its plan; the ref of the plan's own comes first."""
    if all(checkout.ref(repo.git_dir, name) is None for name in (todo.ref, todo.old_ref)):
        return []
    form = f"%(refname) %(objectname) %(tree) %(parent)%00%(trailers:key={commit_message.PLAN},valueonly)%00"
    answer = git.run(["for-each-ref", f"--format={form}", "--sort=-refname", todo.ref, todo.old_ref], cwd=repo.root).out
    words = answer.split("\0")
    found = []
    for about, plan in zip(words[::2], words[1::2], strict=False):
        name, sha, tree, *parents = about.split()
        found.append((plan.strip(), KeptChange(sha, tree, parents[0], name)))
    return found


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
