from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from described_bridge import DescribedBridge, Keeper
from project import Project
from stage import Stage
from workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    made = Workbench(Project(tmp_path / "project"), tmp_path / "bench")
    yield made
    made.pools.close()


@pytest.fixture
def forge(stage: Stage) -> DescribedBridge:
    """Return the one bridge of the stage, which has pull requests with descriptions."""
    found = DescribedBridge()
    stage.bridge, stage.bridges = found, [found]
    stage.todo_worker = Keeper()
    return found
