"""Git as the people of the soak use it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ANN = {f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRON = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **ANN}


def git(cwd: Path, *argv: str, fails: bool = False) -> str:
    """Run git as Ann, and return what it prints; where it may fail, an empty text then."""
    ended = subprocess.run(
        ["git", *argv], cwd=cwd, env={**os.environ, **ENVIRON}, check=not fails, capture_output=True, text=True
    )
    return ended.stdout.strip() if ended.returncode == 0 else ""


def refs(bare: Path) -> dict[str, str]:
    """Return the branches of a repository, and their tips."""
    listed = git(bare, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.split() for line in listed)
