"""P1 to P3 under `kill -9`: the whole life of events, killed before every change to any file, once and twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STORY = Path(__file__).with_name("crash_story.py")
PARTS = 4


def told(kind: str, part: int, parts: int, cwd: Path) -> dict[str, Any]:
    """Tell the story in a process of its own, which forks for every telling."""
    ended = subprocess.run(
        [sys.executable, str(STORY), kind, str(part), str(parts)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_p1_p2_p3_killed_before_every_change_an_event_ends_in_one_state_with_each_reply_once(part: int, tmp_path: Path):
    report = told("once", part, PARTS, tmp_path)

    assert report["wrong"] == []
    assert report["killed"] >= report["changes"] // PARTS


@pytest.mark.timeout(600)
def test_p1_p2_p3_killed_in_the_middle_of_every_write_nothing_is_lost_and_nothing_is_said_twice(tmp_path: Path):
    report = told("torn", 0, 1, tmp_path)

    assert report["wrong"] == []
    assert report["killed"] == report["changes"] > 50


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", [0, 8, 16])
def test_p1_p2_p3_killed_twice_in_a_row_nothing_is_lost_and_nothing_is_said_twice(part: int, tmp_path: Path):
    report = told("twice", part, 24, tmp_path)  # every eighth change, and then every second kill

    assert report["wrong"] == []
    assert report["killed"] > report["changes"] // 24
