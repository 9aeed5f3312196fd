"""Check what a commit must not bring into a worktree, and what would be lost with one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prloom.core.text.naming import commit_id, printable
from prloom.core.text.path_patterns import for_git
from prloom.errors import WorkspaceError
from prloom.model.own_folder import OWN_FOLDER
from prloom.workspace import checkout, git, revisions
from prloom.workspace.checkout import NoCommitError
from prloom.workspace.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prloom.workspace.checkout import Checkout
    from prloom.workspace.objects import TreeEntry


# A file system that ignores case may ignore these too: HFS+ did, and git guards `.git` against them.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


def committed_state(repository: Repository, sha: str) -> str | None:
    """Return what a commit has where prloom keeps its own files, such as "the symbolic link prloom/.local", or None.

    What a branch commits there would be read as prloom's state, or lead its writing elsewhere. Ask again whenever the
    worktree's HEAD has moved.
    """
    folder, local = OWN_FOLDER.split("/")
    for top in _entries(repository, sha):
        if not _is_like(top.name, folder):
            continue
        if top.kind != "folder":
            return f"the {top.kind} {printable(top.name)}"
        for below in _entries(repository, top.sha):
            if _is_like(below.name, local):
                return f"the {below.kind} {printable(top.name)}/{printable(below.name)}"
    return None


def _entries(repository: Repository, sha: str) -> tuple[TreeEntry, ...]:
    from prloom.workspace import objects  # noqa: PLC0415 -- GitPython: 80 ms for those who check a commit

    if commit_id(sha) is None:
        raise WorkspaceError(f"{printable(sha)} is not the id of a commit")
    return objects.entries(repository, sha)


def _is_like(name: str, ours: str) -> bool:
    return name.translate(_IGNORED).casefold() == ours


_NAMED = 3
_SUBMODULE = "160000"


def uncommitted_paths(worktree: Checkout) -> tuple[str, ...]:
    """Return the paths that differ from the commit, or are new and not ignored; prloom's own folder aside."""
    return (*_changed(worktree), *_untracked(worktree, ()))


def unsaved_work(
    worktree: Checkout,
    cwd: Path,
    *,
    but: str | None = None,
    merged_into: str | None = None,
    junk: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what is in the worktree and nowhere else, a phrase for each kind of work.

    New files that are `junk` are none. What only the branch `but` leads to counts too, unless the commit `merged_into`
    has all of it; commits are looked up in the repository at cwd.
    """
    commits: tuple[str, ...] = ()
    with suppress(NoCommitError):  # its branch was deleted: all its files count as changed
        head = checkout.head(worktree)
        commits = unsaved_commits(cwd, head, but=but)
        if commits and merged_into is not None and is_contained(cwd, head, merged_into):
            commits = ()
    kinds = {
        "changed files": _changed(worktree),
        "untracked files": _untracked(worktree, junk),
        "files whose changes git ignores": _files_hidden_from_status(worktree),
        "submodules": _submodules(worktree),
        "commits on no other branch": commits,
        "unfinished": checkout.unfinished(worktree),
    }
    return tuple(f"{kind}: {some(names)}" for kind, names in kinds.items() if names)


def unsaved_commits(cwd: Path, sha: str, *, but: str | None = None) -> tuple[str, ...]:
    """Return the commits up to this one that no branch (one aside), tag or remote branch leads to, abbreviated."""
    skipped = () if but is None else (f"--exclude={but}",)
    asked = ["rev-list", "--abbrev-commit", sha, "--not", *skipped, "--branches", "--tags", "--remotes"]
    return tuple(git.run(asked, cwd=cwd).out.split())


def is_contained(cwd: Path, sha: str, base: str) -> bool:
    """Whether the base has all that the commits up to this one change, as after a squash merge.

    Merging them would change nothing then. False where git cannot say that: before 2.38, or where they conflict.
    """
    try:
        made = git.run(["merge-tree", "--write-tree", "--no-messages", base, sha], cwd=cwd, codes=(0, 1))
        tree = revisions.tree_of(cwd, base)
    except WorkspaceError:
        return False
    return made.code == 0 and made.out.strip() == tree


def _changed(worktree: Checkout) -> list[str]:
    asked = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"]
    return [path for entry in _lines(worktree, asked) if not _is_own(path := entry[3:])]


def _untracked(worktree: Checkout, junk: Sequence[str]) -> list[str]:
    skipped = [f"--exclude={for_git(each)}" for each in junk]
    asked = ["ls-files", "-z", "--others", "--exclude-standard", *skipped]
    return [path for path in _lines(worktree, asked) if not _is_own(path)]


def _is_own(path: str) -> bool:
    return path == OWN_FOLDER or path.startswith(f"{OWN_FOLDER}/")


def _files_hidden_from_status(worktree: Checkout) -> list[str]:
    """Return the files that are there, but so marked (assume-unchanged, skip-worktree) that status says nothing."""
    entries = [(entry[:1], entry[2:]) for entry in _lines(worktree, ["ls-files", "-v", "-z"])]
    return [path for tag, path in entries if (tag.islower() or tag == "S") and _is_there(worktree, path)]


def _submodules(worktree: Checkout) -> list[str]:
    """Return the submodules that were checked out; their own changes and commits are not looked into."""
    entries = [entry.partition("\t") for entry in _lines(worktree, ["ls-files", "--stage", "-z"])]
    return [path for about, _, path in entries if about.startswith(_SUBMODULE) and _is_there(worktree, f"{path}/.git")]


def _is_there(worktree: Checkout, path: str) -> bool:
    place = worktree.path / path
    return place.is_symlink() or place.exists()


def _lines(worktree: Checkout, argv: list[str]) -> list[str]:
    return [line for line in git.run(argv, cwd=worktree.path, git_dir=worktree.git_dir).out.split("\0") if line]


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    first = ", ".join(printable(name) for name in names[:_NAMED])
    if len(names) <= _NAMED:
        return first
    return f"{first} and {len(names) - _NAMED} more"
