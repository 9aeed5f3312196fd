from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import repository
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
        index = self.root / ".git" / "index-of-a-test"
        index.unlink(missing_ok=True)
        env = {**os.environ, "GIT_INDEX_FILE": str(index)}

        def git(*argv: str, text: str = "") -> str:
            done = subprocess.run(
                ["git", *argv], cwd=self.root, env=env, input=text.encode(), check=True, capture_output=True
            )
            return done.stdout.decode().strip()

        ref = f"refs/heads/{branch}"
        parent = self.sha(branch) or self.sha("main")
        if parent:
            git("read-tree", parent)
        for mode, group in (("100755", files), ("120000", links or {})):
            for path, text in group.items():
                blob = git("hash-object", "-w", "--stdin", text=text)
                git("update-index", "--add", "--replace", "--cacheinfo", f"{mode},{blob},{path}")
        made = git("commit-tree", git("write-tree"), *(("-p", parent) if parent else ()), text="a commit\n")
        git("-c", "core.hooksPath=/dev/null", "update-ref", ref, made)
        return made

    def sha(self, branch: str) -> str:
        asked = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        return subprocess.run(asked, cwd=self.root, check=False, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def _only_our_git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository on main with one commit, and a branch `feature` with one more."""
    made = Project(tmp_path / "project")
    made.root.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit({"README.md": "hello\n", "src/app.py": "print()\n"})
    made.git("reset", "--quiet", "--hard")
    made.commit({"src/app.py": "print(1)\n"}, branch="feature")
    return made


@pytest.fixture
def repo(project: Project) -> Repository:
    return repository.find(project.root)


@pytest.fixture
def place(project: Project) -> Path:
    """Where the worktree of a plan goes."""
    return project.root / "prloom" / ".local" / "worktrees" / "plan"
