from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def bundled() -> Path:
    """Return the folder of the bundled plugins."""
    return Path(__file__).parents[2] / "plugins"
