"""The layouts in which people keep a repository: each with a checkout of `main`, and a branch `work`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import environment

Layout = Callable[[Path], Path]
"""Makes the repository below a folder, and returns the checkout that a person works in."""


def git(cwd: Path, *args: str) -> str:
    """Run git as Ada does, with no configuration but the repository's."""
    env = environment.of_git(str(cwd))
    return subprocess.run(["git", *args], cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout.strip()


def plain(folder: Path) -> Path:
    return _begin(folder / "work", [])


def separate(folder: Path) -> Path:
    """A git directory apart from the files: git notes nowhere in it where they are."""
    return _begin(folder / "work", [f"--separate-git-dir={folder / 'store'}"])


def worktree_of_a_bare_clone(folder: Path) -> Path:
    plain(folder)
    git(folder, "clone", "--quiet", "--bare", "work", "bare.git")
    git(folder / "bare.git", "worktree", "add", "--quiet", "../checkout", "main")
    return folder / "checkout"


def bare_beside_its_worktrees(folder: Path) -> Path:
    """A bare repository called `.git`, in the folder that also holds its worktrees."""
    plain(folder)
    git(folder, "clone", "--quiet", "--bare", "work", "project/.git")
    git(folder / "project/.git", "worktree", "add", "--quiet", "../main", "main")
    return folder / "project/main"


def submodule(folder: Path) -> Path:
    plain(folder)
    outer = _begin(folder / "outer", [])
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder / "work"), "lib")
    git(outer / "lib", "branch", "work")
    return outer / "lib"


def link(folder: Path) -> Path:
    """A `.git` that is a link to a git directory of another name."""
    root = plain(folder)
    (root / ".git").rename(folder / "project.git")
    (root / ".git").symlink_to(folder / "project.git")
    return root


ALL: Mapping[str, Layout] = {
    made.__name__: made
    for made in (plain, separate, worktree_of_a_bare_clone, bare_beside_its_worktrees, submodule, link)
}


def _begin(root: Path, options: list[str]) -> Path:
    root.mkdir()
    git(root, "init", "--quiet", "--template=", "--initial-branch=main", *options)
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("print()\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=begin")
    git(root, "branch", "work")
    return root
