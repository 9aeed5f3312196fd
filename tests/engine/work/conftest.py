from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from project import Project
from workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    made = Workbench(Project(tmp_path / "project"), tmp_path / "bench")
    yield made
    made.pools.close()
