"""Make commits again on top of another one, in the object store only: no worktree, index or ref is touched.

Each commit is merged as `git cherry-pick` would, by git-merge-tree(1). That takes the base of the merge from the
history, so each is merged with a commit made for the purpose: the new tree, with the picked commit's parent as its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, commits, git, revisions
from prloom.workspace.commits import Commit
from prloom.workspace.repository import Repository

_CONFLICT = 1


@dataclass(frozen=True)
class ReplayedCommits:
    """The new tip, and what became of each commit: the new one, or None where it had nothing left to change."""

    tip: str
    new: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class ReplayConflict:
    """The commit that could not be made again, and the files that conflict.

    `head` is what it was to be put on, and `tree` the files of the merge, with the marks of the conflict.
    """

    commit: str
    paths: tuple[str, ...]
    head: str
    tree: str


def replay(
    repo: Repository, picked: Sequence[Commit], onto: str, *, sign: bool = False
) -> ReplayedCommits | ReplayConflict:
    """Make the commits, oldest first, again on top of `onto`; merges among them are left out. Raises WorkspaceError.

    Author, date and message stay; the committer is the operator, who may `sign` them. A commit that has nothing left to
    change is left out, unless it was empty from the start.
    """
    tip = onto
    new: list[tuple[str, str | None]] = []
    for each in picked:
        if len(each.parents) > 1:
            new.append((each.sha, None))
            continue
        tree_before = revisions.tree_of(repo.root, tip)
        tree = _merged(repo, each, tip)
        if isinstance(tree, ReplayConflict):
            return tree
        was_empty = bool(each.parents) and revisions.tree_of(repo.root, each.parents[0]) == each.tree
        if tree == tree_before and not was_empty:
            new.append((each.sha, None))
        else:
            tip = _made(repo, each, tree, tip, sign=sign)
            new.append((each.sha, tip))
    return ReplayedCommits(tip, tuple(new))


def _merged(repo: Repository, picked: Commit, tip: str) -> str | ReplayConflict:
    """Return the tree of a commit's change on top of the tip."""
    tree = revisions.tree_of(repo.root, tip)
    parents = [part for parent in picked.parents for part in ("-p", parent)]
    argv = ["commit-tree", *parents, "-m", "the side of a merge", tree]
    side = git.run(argv, cwd=repo.root, variables=backup_refs.PRLOOM).out.strip()
    options = ["--write-tree", "--name-only", "-z", "--no-messages", "--allow-unrelated-histories"]
    with TemporaryDirectory(prefix="prloom-merge-") as empty:  # where no attributes of a checkout decide
        try:
            ended = git.run(
                ["merge-tree", *options, side, picked.sha],
                cwd=Path(empty),
                git_dir=repo.git_dir,
                variables={"GIT_INDEX_FILE": f"{empty}/index"},
                codes=(0, _CONFLICT),
                settings=(("merge.conflictStyle", "merge"),),
                limit=git.LONG_LIMIT,
            )
        except WorkspaceError as error:
            raise WorkspaceError(f"{printable(str(error), 500)}; prloom rebases with git 2.38 or later") from error
    made, *paths = ended.out.split("\0")
    if ended.code == _CONFLICT:
        return ReplayConflict(picked.sha, tuple(dict.fromkeys(filter(None, paths))), tip, made)
    return made


def _made(repo: Repository, picked: Commit, tree: str, parent: str, *, sign: bool) -> str:
    """Return a commit with the author, date and message of another."""
    name, email, date, _ = authorship(repo, picked)
    author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": f"@{date}"}
    return commits.make(repo, tree=tree, parent=parent, message=picked.message, author=author, sign=sign)


def resolved(repo: Repository, sha: str, *, tree: str, parent: str, sign: bool = False) -> str:
    """Return a commit made again with the files of a resolution; the parent where those leave nothing of it."""
    made = revisions.tree_of(repo.root, tree)
    if made == revisions.tree_of(repo.root, parent):
        return parent
    (picked,) = commits.between(repo, None, sha, most=1)
    return _made(repo, picked, made, parent, sign=sign)


def authorship(repo: Repository, commit: Commit) -> tuple[str, str, str, str]:
    """Return the name, address and date of a commit's author, and the message: what stays when it is made again."""
    argv = ["log", "--max-count=1", "--date=raw", "--format=%an%x00%ae%x00%ad", commit.sha, "--"]
    name, email, date = git.run(argv, cwd=repo.root).out.removesuffix("\n").split("\0")
    return name, email, date, commit.message.strip()
