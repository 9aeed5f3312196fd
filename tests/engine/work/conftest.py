from __future__ import annotations

from pathlib import Path

import pytest
from project import Project
from workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(Project(tmp_path / "project"), tmp_path / "bench")
