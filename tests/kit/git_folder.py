"""A git directory with one empty commit, made without git: all that prloom wants of a repository without files."""

from __future__ import annotations

import zlib
from hashlib import sha1
from pathlib import Path

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it without an object
_WHO = "Ada <ada@example.org> 0 +0000"
_TEXT = f"tree {_EMPTY_TREE}\nauthor {_WHO}\ncommitter {_WHO}\n\nbegin\n".encode()
_OBJECT = b"commit %d\0" % len(_TEXT) + _TEXT
_SHA = sha1(_OBJECT, usedforsecurity=False).hexdigest()


def make(git_dir: Path) -> Path:
    """Make the folder, on a branch `main`, and return it."""
    blob = git_dir / "objects" / _SHA[:2] / _SHA[2:]
    blob.parent.mkdir(parents=True)
    blob.write_bytes(zlib.compress(_OBJECT))
    (git_dir / "refs" / "heads").mkdir(parents=True)
    (git_dir / "refs" / "heads" / "main").write_text(f"{_SHA}\n")
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    return git_dir


def add_worktree(git_dir: Path, path: Path) -> None:
    """Register a worktree that is there, as `git worktree add --detach` does."""
    own = git_dir / "worktrees" / path.name
    own.mkdir(parents=True)
    (own / "HEAD").write_text(f"{_SHA}\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{path}/.git\n")
    (path / ".git").write_text(f"gitdir: {own}\n")
