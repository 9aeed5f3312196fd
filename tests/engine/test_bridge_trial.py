"""A bridge is loaded in a process of its own, which ends whatever the bridge does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psutil

from prloom.config import loading
from prloom.engine import bridge_trial
from prloom.engine.bridge_trial import BridgeTrial

HANGS = "import threading\nthreading.Event().wait()\n"


def test_bridges_that_hang_while_they_are_loaded_are_ended_at_the_limit(tmp_path: Path) -> None:
    names = ("one", "two")
    (tmp_path / "hangs.py").write_text(HANGS)
    tables = "".join(f'[bridges.{name}]\nmodule = "./hangs.py"\n' for name in names)
    others = "".join(f"[bridges.{name}]\nenabled = false\n" for name in ("github", "local"))
    (tmp_path / "prloom.toml").write_text(f"{tables}{others}")
    config = loading.load(tmp_path, {})

    trials = bridge_trial.every(tmp_path, config, (), limit=timedelta(seconds=0.25))

    assert trials == tuple(BridgeTrial(name=name, error="loading it took longer than 0.25 s") for name in names)
    assert not [each for each in psutil.Process().children() if "prloom.engine.bridge_trial" in each.cmdline()]
