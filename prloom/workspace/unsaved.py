"""Find the work in a worktree that would be lost with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.core.naming import printable
from prloom.workspace import checkout, git
from prloom.workspace.root import LOCAL_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prloom.workspace.checkout import Checkout

_NAMED = 3
_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisection",
}
_SUBMODULE = "160000"


def changes(worktree: Checkout) -> tuple[str, ...]:
    """Return the paths that differ from the commit, or are new and not ignored; prloom's own folder aside."""
    return tuple(path for _, path in _status(worktree))


def work(worktree: Checkout, cwd: Path, *, but: str | None = None) -> tuple[str, ...]:
    """Return what is in the worktree and nowhere else, a phrase for each kind of work.

    What only the branch `but` leads to counts too; commits are looked up in the repository at cwd.
    """
    status = tuple(_status(worktree))
    kinds = {
        "changed files": [path for code, path in status if code != "??"],
        "untracked files": [path for code, path in status if code == "??"],
        "files whose changes git ignores": _overlooked(worktree),
        "submodules": _submodules(worktree),
        "commits on no other branch": commits(cwd, checkout.head(worktree), but=but),
        "unfinished": sorted({name for file, name in _OPERATIONS.items() if (worktree.git_dir / file).exists()}),
    }
    return tuple(f"{kind}: {_some(names)}" for kind, names in kinds.items() if names)


def commits(cwd: Path, sha: str, *, but: str | None = None) -> tuple[str, ...]:
    """Return the commits up to this one that no branch (one aside), tag or remote branch leads to, abbreviated."""
    skipped = () if but is None else (f"--exclude={but}",)
    asked = ["rev-list", "--abbrev-commit", sha, "--not", *skipped, "--branches", "--tags", "--remotes"]
    return tuple(git.run(asked, cwd=cwd).out.split())


def _status(worktree: Checkout) -> Iterator[tuple[str, str]]:
    asked = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    for entry in _lines(worktree, asked):
        code, path = entry[:2], entry[3:]
        if path != LOCAL_STATE and not path.startswith(f"{LOCAL_STATE}/"):
            yield code, path


def _overlooked(worktree: Checkout) -> list[str]:
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


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    first = ", ".join(printable(name) for name in names[:_NAMED])
    if len(names) <= _NAMED:
        return first
    return f"{first} and {len(names) - _NAMED} more"
