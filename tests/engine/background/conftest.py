"""Daemons for the tests of what supervises them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from daemon_scene import Opener

from prloom.extensions.background.client import Client


@pytest.fixture
def scene(tmp_path: Path) -> Opener:
    return Opener(tmp_path)


@pytest.fixture(autouse=True)
def _time_to_close_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a daemon that wants a connection for each request a minute, and not a second, to show that it does."""
    monkeypatch.setattr(Client.probe, "__defaults__", (timedelta(minutes=1),))
