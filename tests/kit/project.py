"""A real git repository, in which git is used as developers use it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import environment
from stage import Stage

from prloom.engine.adoption import adopt
from prloom.workspace import repository

KNOW_THEIR_PLACE = (".git/worktrees/work/gitdir", "prloom/.local/worktrees/work/.git", "prloom/.local/plans/work.json")
"""The files of an adopted branch that say where the repository is."""


class Project:
    """A repository with a branch `work`; a copy of another one, whose branch is adopted, takes a fifth of the time."""

    def __init__(self, root: Path, like: Project | None = None) -> None:
        self.root = root
        if like is not None:
            shutil.copytree(like.root, root)
            for file in (root / name for name in KNOW_THEIR_PLACE):
                file.write_text(file.read_text().replace(str(like.root), str(root)))
            return
        root.mkdir()
        self.git("init", "--quiet", "--template=", "--initial-branch=main")
        self.git("commit", "--quiet", "--allow-empty", "--message=begin")
        self.git("branch", "work")

    def git(self, *args: str, cwd: Path | None = None, given: str = "", index: Path | None = None) -> str:
        """Run git as Ada, with another index than the checkout's if one is given, and return what it prints."""
        env = environment.of_git(str(self.root)) | ({"GIT_INDEX_FILE": str(index)} if index else {})
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.root, env=env, input=given, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def adopt(self, stage: Stage, branch: str = "work") -> Path:
        """Adopt a branch, and return its worktree."""
        repo = repository.find(self.root)
        adopt.adopt_branch(repo, stage.config, branch, plan_id=None, preset=None, now=stage.clock())
        return stage.paths.worktree(branch)

    def bring_prlooms_files(self) -> None:
        """Commit a plan's state on the branch, without touching any checkout."""
        blob = self.git("hash-object", "-w", "--stdin", given='{"id": "work", "branch": "main"}')
        index = self.root / ".git/other-index"
        self.git("read-tree", "work", index=index)
        self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},prloom/.local/state.json", index=index)
        commit = self.git("commit-tree", self.git("write-tree", index=index), "-p", "work", "-m", "mine")
        self.git("update-ref", "refs/heads/work", commit)
