"""What the tests of faults share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_server
import pytest
from command_server import CommandServer
from stage import Stage

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def matrix_server() -> CommandServer:
    """Return what makes parts of the crash matrix in forks: it need not import prloom for each of them."""
    return command_server.server_of(HERE / "matrix_server.py", forked=False)


@pytest.fixture
def ran(tmp_path: Path, matrix_server: CommandServer) -> Callable[..., Any]:
    """Run one of the programs, as `make crash-matrix` does, and return its report."""

    def run(program: str, *args: str, hours: float = 1 / 6) -> Any:
        if program == "crash_matrix.py":
            limit = hours * 3600
            made = command_server.run_at(matrix_server, [program, *args], cwd=tmp_path, env=os.environ, limit=limit)
            assert made.stdout, made.stderr
            return json.loads(made.stdout)
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
