"""What the tests of faults share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stage import Stage

HERE = Path(__file__).parent


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Any]:
    """Run one of the programs, as `make crash-matrix` does, and return its report."""

    def run(program: str, *args: str, hours: float = 1 / 6) -> Any:
        ended = subprocess.run(
            [sys.executable, str(HERE / program), *args],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=hours * 3600,
            check=False,
        )
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout)

    return run


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
