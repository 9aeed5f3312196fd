from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import repository, worktree
from prloom.workspace.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Project:
    """A real repository, with git as its developers use it: without any of prloom's precautions."""

    root: Path

    def git(self, *argv: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *argv], cwd=cwd or self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str], *, branch: str = "main", links: dict[str, str] | None = None) -> str:
        """Commit the files on a branch, made of main where it is new, without touching the checkout; return the SHA."""
        parent = self.sha(branch) or self.sha("main")
        lines = [f"commit refs/heads/{branch}", "mark :1", "committer Ada <ada@example.org> 1700000000 +0000"]
        lines += ["data 8", "a commit", *([f"from {parent}"] if parent else [])]
        for mode, group in (("100755", files), ("120000", links or {})):
            for path, text in group.items():
                lines += [f"M {mode} inline {path}", f"data {len(text.encode())}", text]
        asked = ["git", "-c", "core.hooksPath=/dev/null", "fast-import", "--quiet"]
        told = "\n".join([*lines, "", "get-mark :1", ""]).encode()
        return subprocess.run(asked, cwd=self.root, input=told, check=True, capture_output=True).stdout.decode().strip()

    def sha(self, branch: str) -> str:
        asked = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        return subprocess.run(asked, cwd=self.root, check=False, capture_output=True, text=True).stdout.strip()


def set_only_our_git_settings(patch: pytest.MonkeyPatch, home: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_CEILING_DIRECTORIES"]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{role}_NAME", "Ada")
        patch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")


@pytest.fixture(autouse=True)
def _only_our_git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_only_our_git_settings(monkeypatch, tmp_path)


@pytest.fixture(scope="session")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Project(tmp_path_factory.mktemp("first") / "project")
    made.root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        set_only_our_git_settings(patch, made.root.parent)
        made.git("init", "--quiet", "--template=", "--initial-branch=main")
        made.commit({"README.md": "hello\n", "src/app.py": "print()\n"})
        made.git("reset", "--quiet", "--hard")
        made.commit({"src/app.py": "print(1)\n"}, branch="feature")
    return made.root


@pytest.fixture
def project(_first: Path, tmp_path: Path) -> Project:
    """A repository on main with one commit, and a branch `feature` with one more."""
    return Project(shutil.copytree(_first, tmp_path / "project"))


@pytest.fixture
def repo(project: Project) -> Repository:
    return repository.find(project.root)


@pytest.fixture
def place(project: Project) -> Path:
    """Where the worktree of a plan goes."""
    return project.root / "prloom" / ".local" / "worktrees" / "plan"


@pytest.fixture
def base(repo: Repository, place: Path) -> str:
    """A worktree of `feature` at `place`, and the commit that it is at."""
    return worktree.create(repo, place, "feature")


@pytest.fixture
def hub(project: Project, tmp_path: Path) -> Project:
    """The bare repository that is the project's remote."""
    project.git("clone", "--quiet", "--bare", str(project.root), str(tmp_path / "hub.git"))
    project.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    project.git("fetch", "--quiet", "origin")
    return Project(tmp_path / "hub.git")
