"""What is left when the writer ends before any of its changes, once and twice in a row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

KIT = Path(__file__).parents[1] / "kit"
WRITES = (
    "append",
    "append to a torn tail",
    "append to a tail without newline",
    "rotate",
    "save",
    "save for the first time",
    "set aside",
)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_ends_at_any_step_leaves_what_was_before_or_what_is_after(
    write: str, scenarios: ModuleType
) -> None:
    assert scenarios.crash_everywhere(scenarios.SCENARIOS[write]) > 6


def test_every_write_is_among_those_that_are_crashed(scenarios: ModuleType) -> None:
    assert tuple(scenarios.SCENARIOS) == WRITES


def test_a_writer_that_is_killed_for_real_at_any_step_loses_nothing() -> None:
    killed = subprocess.run(
        [sys.executable, Path(__file__).with_name("scenarios.py")],
        env={**os.environ, "PYTHONPATH": str(KIT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert killed.returncode == 0, killed.stderr
    assert len(killed.stdout.splitlines()) == len(WRITES)
