from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from described_bridge import DescribedBridge, Keeper
from project import Project
from stage import Stage
from workbench import Workbench


@pytest.fixture(scope="session")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose branch is adopted, to be copied."""
    folder = tmp_path_factory.mktemp("adopted")
    bench = Workbench(Project(folder / "project"), folder / "bench")
    bench.pools.close()
    return bench.project


@pytest.fixture
def bench(tmp_path: Path, adopted: Project) -> Iterator[Workbench]:
    made = Workbench(Project(tmp_path / "project", like=adopted), tmp_path / "bench")
    yield made
    made.pools.close()


@pytest.fixture
def forge(stage: Stage) -> DescribedBridge:
    """Return the one bridge of the stage, which has pull requests with descriptions."""
    found = DescribedBridge()
    stage.bridge, stage.bridges = found, [found]
    stage.todo_worker = Keeper()
    return found
