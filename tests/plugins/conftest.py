from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from prloom.engine.background.daemon import Daemon
from prloom.testing import background_contract
from prloom.testing.running_daemon import RunningDaemon

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _daemons_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give daemons a minute for whatever they have to do in time: on a busy machine, they may need some seconds."""
    background = background_contract._background
    monkeypatch.setattr(Daemon, "startup_limit", MINUTE)
    monkeypatch.setattr(RunningDaemon.call, "__defaults__", (None, MINUTE))
    monkeypatch.setattr(background_contract, "_HEALTH_LIMIT", MINUTE)
    monkeypatch.setattr(
        background_contract,
        "_background",
        lambda daemon: msgspec.structs.replace(background(daemon), shutdown_grace_period=60_000),
    )


@pytest.fixture
def bundled() -> Path:
    """Return the folder of the bundled plugins."""
    return Path(__file__).parents[2] / "plugins"
