"""A pytest that is quick to start on a weakened build."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import environment
import pytest
from build import Build

RUNNER = Path(__file__).with_name("runner.py")


class Ended(NamedTuple):
    """How a run of pytest ended, and what it said."""

    code: int
    said: str


class Pytest:
    """Runs pytest on a build, each time in a process that is forked for it."""

    def __init__(self, build: Build, said: Path) -> None:
        self._build = build
        self._said = said
        self._runner: subprocess.Popen[str] | None = None

    def __call__(self, *args: str) -> Ended:
        """Run pytest once."""
        try:
            runner = self._runner = self._runner or self._started()
            assert runner.stdin is not None
            assert runner.stdout is not None
            print(json.dumps([str(self._said), *args]), file=runner.stdin, flush=True)
            code = runner.stdout.readline()
        except BaseException:
            self.close()
            raise
        assert code, "the process that runs pytest has died"
        return Ended(int(code), self._said.read_text(errors="replace"))

    def _started(self) -> subprocess.Popen[str]:
        env = {**environment.nested(), "PYTHONPATH": str(self._build.folder)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # what does not change is compiled once
        return subprocess.Popen(
            [sys.executable, "-P", str(RUNNER)],
            cwd=self._build.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the process, with the run that may be going on."""
        runner, self._runner = self._runner, None
        if runner is not None:
            with suppress(ProcessLookupError):
                os.killpg(runner.pid, signal.SIGKILL)
            with runner:  # closes its pipes, and waits for it
                pass


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return Build(tmp_path_factory.mktemp("weakened") / "build")


@pytest.fixture(scope="session")
def run_pytest(build: Build) -> Iterator[Pytest]:
    made = Pytest(build, build.folder.with_name("said.txt"))
    yield made
    made.close()
