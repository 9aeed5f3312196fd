"""A plan that is being made of a draft is made whole after a crash at any point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from project import Project

PROGRAM = Path(__file__).parents[2] / "kit/activation_crashes.py"
LEAST = 15
"""Calls that change something; with fewer, the hook would not see them."""


@pytest.mark.timeout(300)
def test_an_activation_that_is_killed_at_any_point_is_continued(project: Project):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(project.root)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert lines[:-1] == []
    assert int(lines[-1].removeprefix("calls: ")) >= LEAST
