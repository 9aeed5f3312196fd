"""Tests with the machine's own bubblewrap; where that is missing, they are skipped and say so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import environment
import pytest
from project import Project
from workbench import Workbench

from prloom.agents import sandbox_check

PROBLEM = sandbox_check.problem({"PATH": environment.sandboxed(os.environ["PATH"])})


@pytest.fixture(autouse=True)
def _with_the_machines_own_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    if PROBLEM is not None:
        pytest.skip(PROBLEM)
    monkeypatch.setenv("PATH", environment.sandboxed(os.environ["PATH"]))


class SandboxedBench(Workbench):
    """A workbench whose runs have a sandbox, in which they see the folder of its scripts."""

    def configure(self, work: str = "", rest: str = "") -> None:
        shown = json.dumps([str(self.home)])
        super().configure(work, f'[sandbox]\nmode = "required"\nwrite = {shown}\n{rest}')


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    """A plan for the branch `work`, whose worker has a sandbox."""
    found = SandboxedBench(Project(tmp_path / "project"), tmp_path / "bench")
    yield found
    found.pools.close()
