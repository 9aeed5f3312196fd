"""A repository whose dispatcher the test plays."""

from __future__ import annotations

from pathlib import Path

import git_folder
import pytest
from stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Return a repository with git's own folder."""
    made = Stage(tmp_path / "repo")
    git_folder.make(made.root / ".git")
    return made
