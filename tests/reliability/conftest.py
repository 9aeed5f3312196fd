import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from stage import Stage

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder in memory where the machine has one: faults are tried here, not the disk."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        yield tmp_path_factory.mktemp("reliability")
        return
    path = Path(mkdtemp(prefix="prloom-test-", dir=MEMORY))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
