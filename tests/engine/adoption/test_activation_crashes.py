"""A plan that is being made of a draft is made whole after a crash at any point.

Each run tries every third point, and another third in the next; PRLOOM_CRASHES=all tries all of them, and
PRLOOM_CRASH_TURN=N those of turn N.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from project import Project

PROGRAM = Path(__file__).parents[2] / "kit/activation_crashes.py"
TURN = int(os.environ.get("PRLOOM_CRASH_TURN") or random.SystemRandom().randrange(3))
FIRST, STEP = (1, 1) if os.environ.get("PRLOOM_CRASHES") == "all" else (1 + TURN % 3, 3)
LEAST = 15
"""Calls that change something; with fewer, the hook would not see them."""


@pytest.mark.timeout(300)
def test_an_activation_that_is_killed_at_any_point_is_continued(project: Project):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(project.root), str(FIRST), str(STEP)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert lines[:-1] == []
    assert int(lines[-1].removeprefix("calls: ")) >= LEAST
