"""Commit a tree to a plan's branch, find the commit of a TODO again, and make a worktree match a commit exactly.

Each of these may be stopped anywhere and called again: objects that nothing leads to do no harm, a ref is moved at
once or not at all, and only from the value that the caller expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prloom.core.text.naming import is_branch_name, printable
from prloom.core.work import commit_message
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import git, repository, signing, snapshot, worktree_files, worktree_update
from prloom.workspace.repository import Repository

_MOST_SEARCHED = 5_000  # commits
_MOVED_BY = "prloom: commit"
"""What the reflog says of a branch that prloom has moved."""


TO_SET_IDENTITY = "set `git config --global user.name` and `user.email`"
"""What a person does where git has no identity."""


class BranchMovedError(WorkspaceError):
    """The branch is not where the caller expected it: someone has moved it meanwhile."""


class IdentityMissingError(WorkspaceError):
    """Git does not know whose commits it makes."""


@dataclass(frozen=True)
class Commit:
    """A commit of a branch: its id, that of its tree, those of its parents, and its message."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str


def commit(
    repo: Repository,
    worktree: Path,
    *,
    tree: str,
    parent: str,
    message: str,
    branch: str,
    sign: bool = False,
) -> str:
    """Commit a tree to the branch, bring the worktree to it beside what a person has changed, and return the SHA.

    The operator's identity is used. If the branch is no longer at `parent`, BranchMovedError is raised, unless its tip
    is this very commit, made by a call that was stopped. Raises IdentityMissingError where git has no identity, and
    WorktreeInTheWayError where a person has changed the same files.
    """
    _require_branch(branch)
    made = _made_before(repo, tree=tree, parent=parent, message=message, branch=branch)
    if made is None:
        made = make(repo, tree=tree, parent=parent, message=message, sign=sign)
        advance(repo, worktree, branch, to=made, expected=parent)
    else:
        recover(repo, worktree, branch=branch)
    return made


def make(
    repo: Repository,
    *,
    tree: str,
    parent: str,
    message: str,
    author: Mapping[str, str] = git.NONE,
    sign: bool = False,
) -> str:
    """Return a new commit to which no branch leads yet; `author` has git's variables for another one than the operator.

    Raises IdentityMissingError where git has no identity, and SignatureError where it cannot sign.
    """
    argv = ["commit-tree", "-p", parent, "-F", "-", tree]
    given = message.encode("utf-8", "surrogateescape")
    if sign:
        argv.insert(1, "-S")
    codes = range(256) if sign else (0,)
    try:
        ended = git.run(argv, cwd=repo.root, stdin=given, variables=author, as_operator=sign, codes=codes)
        if ended.code:
            raise signing.failed(ended.err)
        return ended.out.strip()
    except WorkspaceError:
        require_identity(repo.root)
        raise


def advance(
    repo: Repository,
    worktree: Path,
    branch: str,
    *,
    to: str,
    expected: str,
) -> None:
    """Move the branch, and bring the worktree to its new commit; a call that was stopped is ended by `recover`.

    What a person has changed in other files of the worktree stays. Raises WorktreeInTheWayError, and moves nothing,
    where it is in the same files.
    """
    place = snapshot.require(repo, worktree)
    worktree_update.require_possible(place, branch, expected, to)
    worktree_files.note_move(place, expected, to)
    move(repo, branch, to=to, expected=expected)
    worktree_update.update(place, branch, expected, to)
    worktree_files.forget_move(place)


def recover(repo: Repository, worktree: Path, *, branch: str) -> str | None:
    """End a move of the worktree to another commit that was stopped; return the commit, or None if there is none."""
    place = snapshot.require(repo, worktree)
    noted = worktree_files.noted_move(place)
    if noted is None:
        return None
    tip = repository.branch_sha(repo, branch)
    if tip is None or tip != noted[-1]:  # the branch was not moved, so that the files were not touched
        worktree_files.forget_move(place)
        return None
    worktree_update.update(place, branch, noted[0], tip)
    worktree_files.forget_move(place)
    return tip


def move(repo: Repository, branch: str, *, to: str, expected: str) -> None:
    """Move a branch, if it is where it is expected; raises BranchMovedError if it is not."""
    _require_branch(branch)
    ref = f"refs/heads/{branch}"
    try:
        git.run(["update-ref", "--no-deref", "-m", _MOVED_BY, ref, to, expected], cwd=repo.root)
    except WorkspaceError:
        require_at(repo, branch, expected)
        raise


def require_at(repo: Repository, branch: str, expected: str) -> None:
    """Raise BranchMovedError if a branch is not where it is expected."""
    now = repository.branch_sha(repo, branch)
    if now == expected:
        return
    where = "no longer exists"
    if now is not None:
        where = f"is at {now[:10]} and no longer at {expected[:10]}"
    raise BranchMovedError(f"branch {printable(branch)} {where}; something else has moved it")


def restore(
    repo: Repository, worktree: Path, commit_or_tree: str, *, branch: str, junk: Sequence[str] = DEFAULT_JUNK
) -> None:
    """Make the worktree's index and files match a commit or a tree exactly, with the branch checked out.

    What git does not ignore goes, except for junk; what it ignores, and prloom's own files, stay. Files that match
    already are not written again.
    """
    _require_branch(branch)
    place = snapshot.require(repo, worktree)
    worktree_files.repair_link(place)
    git.run(["symbolic-ref", "HEAD", f"refs/heads/{branch}"], cwd=place.path, git_dir=place.git_dir)
    worktree_files.forget_operations(place)
    worktree_files.write(place, commit_or_tree, junk=junk)
    worktree_files.forget_move(place)


def find(
    repo: Repository,
    branch: str,
    *,
    plan: str,
    todo: str,
    base: str | None = None,
    round_: int = 1,
    tree: str | None = None,
) -> str | None:
    """Return the commit that does a TODO of a plan in this round, by its trailers; None if the branch has none.

    Looks from the branch's tip back to what `base`, a commit or a ref, contains too, at most 5,000 commits. With `tree`
    only a commit of exactly that tree is found: a message can be forged by what an agent commits itself.
    """
    for each in walk(repo, branch, base=base):
        if commit_message.is_of(each.message, plan=plan, todo=todo, round_=round_) and tree in {None, each.tree}:
            return each.sha
    return None


def by_todo(repo: Repository, branch: str, *, plan: str) -> dict[str, str]:
    """Return the newest commit of each TODO of a plan that its branch has, by the trailers, at most 5,000 back."""
    found: dict[str, str] = {}
    for each in walk(repo, branch):
        todo = commit_message.todo_of(each.message, plan=plan)
        if todo is not None:
            found.setdefault(todo, each.sha)
    return found


def latest(repo: Repository, shas: Sequence[str]) -> str | None:
    """Return the one of these commits on which no other builds; the newest of several.

    Those that are gone are left out. None where there is none.
    """
    if not shas:
        return None
    found = git.run(["rev-list", "--no-walk", "--ignore-missing", *shas, "--"], cwd=repo.root).out.split()
    if not found:
        return None
    tips = git.run(["merge-base", "--independent", *found], cwd=repo.root).out.split()
    return next(sha for sha in found if sha in tips)


def walk(repo: Repository, branch: str, *, base: str | None = None) -> Iterator[Commit]:
    """Yield the commits of a branch that are not in `base`, the newest first, at most 5,000."""
    tip = repository.branch_sha(repo, branch)
    if tip is not None:
        yield from between(repo, base, tip)


def between(repo: Repository, base: str | None, tip: str, *, most: int = _MOST_SEARCHED) -> Iterator[Commit]:
    """Yield the commits that lead to `tip` and that are not in `base`, each after those that build on it."""
    if base == tip:
        return
    form = "--format=tformat:%T%x00%P%x00%B%x00"
    argv = ["rev-list", f"--max-count={most}", "--topo-order", form, tip]
    if base is not None:
        argv += ["--not", base]
    words = git.run([*argv, "--"], cwd=repo.root, limit=git.LONG_LIMIT).out.split("\0")
    for head, parents, message in zip(words[::3], words[1::3], words[2::3], strict=False):
        about, tree = head.strip().splitlines()
        yield Commit(about.removeprefix("commit "), tree, tuple(parents.split()), message)


def _made_before(repo: Repository, *, tree: str, parent: str, message: str, branch: str) -> str | None:
    """Return the branch's tip if it is the commit that the caller wants made."""
    tip = repository.branch_sha(repo, branch)
    if tip is None or tip == parent:
        return None
    for each in between(repo, parent, tip):
        same = each.tree == tree and each.parents == (parent,) and each.message.rstrip() == message.rstrip()
        if same and each.sha == tip:
            return tip
        break
    return None


def _require_branch(branch: str) -> None:
    if not is_branch_name(branch):
        raise WorkspaceError(f"'{printable(branch)}' is not a valid name for a branch")


def require_identity(root: Path) -> None:
    """Raise IdentityMissingError where git does not know whose commits it makes."""
    try:
        for role in ("AUTHOR", "COMMITTER"):
            git.run(["var", f"GIT_{role}_IDENT"], cwd=root)
    except WorkspaceError as error:
        raise IdentityMissingError(
            f"git does not know whose commits it makes in {printable(str(root))}; {TO_SET_IDENTITY}"
        ) from error
