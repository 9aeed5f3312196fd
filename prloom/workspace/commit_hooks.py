"""Run the commit hooks of the operator's checkout, where the operator has allowed it: they may refuse a commit.

Which hooks there are is for the operator's checkout to say: where `core.hooksPath` is relative, git would look in the
worktree, whose files are the pull request's. What a hook changes in files or in the index is not committed.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from prloom.core.text.naming import printable
from prloom.core.work import commit_message
from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.checkout import Checkout
from prloom.workspace.repository import Repository

_ANY_CODE = range(-255, 256)
_SHOWN = 1_500  # characters at the end of what a hook wrote


class CommitRefusedError(WorkspaceError):
    """A hook of the operator's refused a commit; the text has the end of what it wrote."""


def run(repo: Repository, worktree: Checkout, message: str) -> str:
    """Run `pre-commit`, `prepare-commit-msg` and `commit-msg`, and return the message as they leave it.

    The commit's files and index must be in the worktree. Raises CommitRefusedError where one refuses.
    """
    folder = _hooks_folder(repo)
    with TemporaryDirectory(prefix="prloom-message-", dir=worktree.git_dir) as temporary:
        file = Path(temporary) / "COMMIT_EDITMSG"
        file.write_text(message, "utf-8")
        _run(worktree, folder, "pre-commit")
        _run(worktree, folder, "prepare-commit-msg", str(file), "message")
        _run(worktree, folder, "commit-msg", str(file))
        changed = file.read_text("utf-8", "replace")
    if commit_message.read(changed) != commit_message.read(message):
        raise CommitRefusedError(
            "a hook for commit messages has changed the trailers of prloom; have it leave them alone"
        )
    return changed


def _hooks_folder(repo: Repository) -> Path:
    asked = ["config", "--type=path", "--null", "--get-all", "core.hooksPath"]
    *configured, _ = git.run(asked, cwd=repo.root).out.removesuffix("\0").split("\0")  # the last is our own, /dev/null
    if configured:
        return repo.root / configured[-1]
    return repo.git_dir / "hooks"


def _run(worktree: Checkout, folder: Path, name: str, *args: str) -> None:
    if not os.access(folder / name, os.X_OK):
        return
    ended = git.run(
        ["hook", "run", "--ignore-missing", name, "--", *args],
        cwd=worktree.path,
        git_dir=worktree.git_dir,
        codes=_ANY_CODE,
        settings=(("core.hooksPath", str(folder)),),
        limit=git.LONG_LIMIT,
    )
    if ended.code:
        wrote = (ended.out + ended.err).strip()[-_SHOWN:]
        shown = "\n".join(printable(line, 200) for line in wrote.splitlines())
        raise CommitRefusedError(f"the hook {name} refused the commit (exit code {ended.code}):\n{shown}")
