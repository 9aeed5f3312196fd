from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where a socket can be."""
    monkeypatch.chdir(tmp_path)  # a path that is short enough for a socket
    return "s"
