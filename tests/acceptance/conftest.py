from __future__ import annotations

from pathlib import Path

import pytest
from real_command import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository", tmp_path)
    made.configure()
    made.run("adopt", "--branch", "work")
    return made
