"""Fetch from a remote, whatever state the worktrees of other plans are in.

After a fetch git walks from the HEAD of every worktree, and fails where one of them leads to nothing: while git is
making that worktree, or where it was left half-made or damaged. Then it is run once more, on the repository without its
worktrees.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.git import GitResult, GitSetting

_BROKEN_WORKTREE: Final = re.compile(r"fatal: bad object (?:worktrees/\S*/)?HEAD\b")
_OWN: Final = frozenset(("worktrees", "HEAD", "index", "FETCH_HEAD", "ORIG_HEAD"))
"""What a git directory has for its worktrees, or for the main one alone."""


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    git_dir: Path,
    limit: timedelta,
    codes: Collection[int] = (0,),
    settings: Sequence[GitSetting] = (),
) -> GitResult:
    """Run a `git fetch` in a checkout of the repository `git_dir`, as `git.run` does, whose errors it raises."""
    try:
        done = git.run(argv, cwd=cwd, codes=codes, limit=limit, settings=settings)
    except WorkspaceError as error:
        if not _BROKEN_WORKTREE.search(str(error)):
            raise
    else:
        if done.code == 0 or not _BROKEN_WORKTREE.search(done.err):
            return done
    with _without_worktrees(git_dir) as view:
        return git.run(argv, cwd=cwd, git_dir=view, codes=codes, limit=limit, settings=settings)


@contextmanager
def _without_worktrees(git_dir: Path) -> Iterator[Path]:
    """Make a git directory with everything that this one has but its worktrees: objects and refs are the same."""
    with tempfile.TemporaryDirectory(prefix="prloom-") as made:
        view = Path(made)
        try:
            for each in git_dir.iterdir():
                if each.name not in _OWN and each.suffix != ".lock":
                    (view / each.name).symlink_to(each)
            (view / "HEAD").write_text("ref: refs/prloom/none\n")
        except OSError as error:
            raise WorkspaceError(f"{view} cannot be written ({error.strerror}), so nothing can be fetched") from error
        yield view
