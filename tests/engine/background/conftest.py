"""Daemons for the tests of what supervises them."""

from __future__ import annotations

from pathlib import Path

import pytest
from daemon_scene import Opener


@pytest.fixture
def scene(tmp_path: Path) -> Opener:
    return Opener(tmp_path)
