"""Read from git's own files where a checkout stands, without starting git.

The files are described in gitrepository-layout(5). For what they do not say (a repository may keep its refs in a table)
git is asked.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from prloom.errors import WorkspaceError
from prloom.model import own_folder

_BRANCHES = "refs/heads/"
_UNKNOWN = ".invalid"  # what HEAD names where refs are kept in a table
_LONGEST = 16_384
# Files in which an operation that has taken HEAD off its branch remembers that branch.
_BORROWED = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisection",
}


class NoCommitError(WorkspaceError):
    """The branch that is checked out has no commit: it is new, or was deleted."""


class Checkout(Struct, frozen=True):
    """A folder with files of a commit, the git directory of its own, and the one it shares with other worktrees."""

    path: Path
    git_dir: Path
    common: Path

    @property
    def linked(self) -> bool:
        """Whether this is a worktree beside another checkout."""
        return self.git_dir != self.common


def at(path: Path) -> Checkout | None:
    """Return the checkout whose top folder this is, going by its `.git`; None if it is none."""
    git_dir = path / ".git"
    if git_dir.is_dir():
        git_dir = git_dir.resolve()
    else:
        link = read(git_dir) or ""
        if not link.startswith("gitdir: ") or "\0" in link:
            return None
        git_dir = (path / link.removeprefix("gitdir: ")).resolve()
    if not is_git_dir(git_dir):
        return None
    return Checkout(path, git_dir, _common(git_dir))


def enclosing(path: Path) -> tuple[Checkout, ...]:
    """Return the checkouts that hold the folder, the innermost first.

    As git does, this looks in no folder of GIT_CEILING_DIRECTORIES, nor above it.
    """
    ceilings = {Path(each) for each in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if each}
    above = takewhile(lambda each: each not in ceilings, path.parents)
    return tuple(found for each in (path, *above) if (found := at(each)))


def is_git_dir(folder: Path) -> bool:
    """Whether git would take the folder for a repository's, by the signs that git itself goes by."""
    head = folder / "HEAD"
    said = read(head) or ""
    is_head = said.startswith("ref: refs/") or _is_commit_id(said) or head.is_symlink()
    common = _common(folder)
    return is_head and (common / "objects").is_dir() and (common / "refs").is_dir()


def registered(common: Path, path: Path) -> Checkout | None:
    """Return the worktree that the repository has registered at this path, whether or not it is still there.

    The repository's side is believed, and not the `.git` in the worktree: an agent that may write nowhere else could
    have turned that into a repository of its own making, whose configuration names programs.
    """
    wanted = path.resolve()
    hint = at(wanted)
    if hint is not None and hint.git_dir.parent == common / "worktrees" and _worktree_folder(hint.git_dir) == wanted:
        return Checkout(wanted, hint.git_dir, common)
    return next((each for each in linked(common) if each.path == wanted), None)


def index_of_clone(path: Path) -> Path:
    """Return the git directory of prloom's own for a clone that agents work in: beside the folder of the clones."""
    return path.parent.parent / own_folder.INDEXES / path.name


def clone(common: Path, path: Path) -> Checkout | None:
    """Return the clone at a path, with prloom's own git directory for it; None if none was made there."""
    own = index_of_clone(path)
    if path.parent.name == own_folder.CLONES and (own / "HEAD").is_file() and _common(own) == common:
        return Checkout(path, own, common)
    return None


def linked(common: Path) -> tuple[Checkout, ...]:
    """Return all worktrees that the repository has registered beside its main checkout."""
    try:
        names = sorted((common / "worktrees").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(found for name in names if (found := of_git_dir(name, common)))


def of_git_dir(git_dir: Path, common: Path) -> Checkout | None:
    """Return the worktree of which this is the repository's own folder, whether or not the worktree is still there."""
    place = _worktree_folder(git_dir)
    if place is None:
        return None
    return Checkout(place, git_dir, common)


def head(checkout: Checkout) -> str:
    """Return the full SHA of the commit that is checked out; raises NoCommitError where there is none."""
    ref = read(checkout.git_dir / "HEAD") or ""
    if ref.startswith("ref: "):
        sha = _sha(checkout.common, ref.removeprefix("ref: "))
    else:
        sha = ref
    if _is_commit_id(sha):
        return sha
    answer = _git_output(checkout, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not answer:
        from prloom.core.text.naming import printable  # noqa: PLC0415 -- only an error needs it

        raise NoCommitError(f"{printable(str(checkout.path))} has no commit yet; create one first")
    return answer


def _is_commit_id(text: str) -> bool:
    from prloom.core.text.naming import commit_id  # noqa: PLC0415 -- HEAD mostly names a branch

    return commit_id(text) is not None


def ref(common: Path, name: str) -> str | None:
    """Return the commit that a ref leads to, by git's files where they say; None if there is no such ref."""
    found = _sha(common, name)
    if _is_commit_id(found):
        return found
    if not found and (read(common / "HEAD") or "") != f"ref: {_BRANCHES}{_UNKNOWN}":
        return None
    from prloom.workspace import revisions  # noqa: PLC0415 -- git is asked only where its files do not say

    return revisions.commit_of(common, name)


def refs_below(common: Path, prefix: str) -> dict[str, str]:
    """Return the refs whose names begin so, such as `refs/tags/`, with what they lead to, by git's files or by git."""
    if read(common / "HEAD") == f"ref: {_BRANCHES}{_UNKNOWN}":
        from prloom.workspace import git  # noqa: PLC0415 -- git is asked only where its files do not say

        listed = git.run(["for-each-ref", "--format=%(objectname) %(refname)", prefix], cwd=common).out.splitlines()
        return {name: sha for sha, _, name in (line.partition(" ") for line in listed)}
    found = {}
    with suppress(OSError):
        for line in (common / "packed-refs").read_bytes().splitlines():
            sha, _, name = os.fsdecode(line).partition(" ")
            if name.startswith(prefix) and _is_commit_id(sha):
                found[name] = sha
    for file in (common / prefix).rglob("*"):
        value = read(file) if file.is_file() else None
        if value is not None and _is_commit_id(value):
            found[file.relative_to(common).as_posix()] = value
    return found


def last_head(checkout: Checkout) -> str | None:
    """Return the commit that was checked out or made here last by git's own commands, by their log; None if none was.

    What has moved the branch from elsewhere since is not in it.
    """
    try:
        lines = (checkout.git_dir / "logs" / "HEAD").read_bytes().splitlines()
    except OSError:
        return None
    words = (os.fsdecode(line).split(" ", 2) for line in reversed(lines))  # what it was at before, and then
    after = (found[1] for found in words if len(found) > 1)
    return next((sha for sha in after if _is_commit_id(sha) and sha.strip("0")), None)


def branch(checkout: Checkout) -> str | None:
    """Return the branch that is checked out; None on a commit that no branch leads (a detached HEAD)."""
    ref = read(checkout.git_dir / "HEAD") or ""
    if ref == f"ref: {_BRANCHES}{_UNKNOWN}":
        ref = "ref: " + _git_output(checkout, "symbolic-ref", "--quiet", "HEAD")
    prefix = f"ref: {_BRANCHES}"
    if ref.startswith(prefix):
        return ref.removeprefix(prefix)
    return None


def has_branch(checkout: Checkout, name: str) -> bool:
    """Whether the branch is checked out here, or is what an unfinished rebase or bisection here will return to."""
    borrowed = (read(checkout.git_dir / each) for each in _BORROWED)
    return branch(checkout) == name or any(each in {name, _BRANCHES + name} for each in borrowed)


def unfinished(checkout: Checkout) -> tuple[str, ...]:
    """Return the operations of git, such as "merge", that were begun in a worktree and not ended."""
    return tuple(sorted({name for file, name in _OPERATIONS.items() if (checkout.git_dir / file).exists()}))


def locked(checkout: Checkout) -> str | None:
    """Return why the worktree is locked; None if it is not."""
    return read(checkout.git_dir / "locked")


def read(path: Path) -> str | None:
    """Return what a small file of git's says, without the newline at its end; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_LONGEST)).removesuffix("\n")
    except (OSError, ValueError):  # not there, or no path at all
        return None


def _common(git_dir: Path) -> Path:
    """Return the git directory that a worktree shares with others; its own if it shares none."""
    common = read(git_dir / "commondir")
    if common is None:
        return git_dir
    return (git_dir / common).resolve()


def _git_output(checkout: Checkout, *argv: str) -> str:
    """Ask git what its files do not say."""
    from prloom.workspace import git  # noqa: PLC0415 -- what only reads files need not pay for it

    return git.run(argv, cwd=checkout.path, git_dir=checkout.git_dir, codes=(0, 1)).out.strip()


def _worktree_folder(git_dir: Path) -> Path | None:
    """Return the top folder of the worktree whose git directory this is; git may have noted it relative to that."""
    link = read(git_dir / "gitdir")
    if link:
        return Path(os.path.normpath(git_dir / link)).parent
    return None


def _sha(common: Path, ref: str) -> str:
    """Return what a ref's file says, or the line for it in the file of packed refs; empty if neither is there."""
    loose = read(common / ref)
    if loose is not None:
        return loose
    try:
        packed = (common / "packed-refs").read_bytes()
    except OSError:
        return ""
    end = packed.find(b" " + os.fsencode(ref) + b"\n")
    if end >= 0:
        return os.fsdecode(packed[packed.rfind(b"\n", 0, end) + 1 : end])
    return ""
