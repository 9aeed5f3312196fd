"""The report of the last hour in `prloom top`."""

from __future__ import annotations

from pathlib import Path

import pytest
from operator_scene import OperatorScene

from prloom.top import summary


def test_what_was_done_is_told_whole_for_the_screen_lays_it_out_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = OperatorScene(tmp_path)
    scene.ended_run(0, error="it broke " * 20 + "at last")
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    assert "it broke at last" in summary.text(scene.where, scene.now)
