"""Publishers and workers are killed at any point, again and again, and nothing is lost, doubled or left behind.

A quick run kills for 60 rounds, `make kill` for two hundred.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STORY = Path(__file__).with_name("kill_story.py")
ROUNDS = int(os.environ.get("PRLOOM_KILL_ROUNDS", "60"))


@pytest.mark.timeout(600)
def test_what_was_acknowledged_ends_once_and_is_answered_once_however_often_all_are_killed(tmp_path: Path):
    seed = os.environ.get("PRLOOM_KILL_SEED") or os.urandom(4).hex()
    ended = subprocess.run(
        [sys.executable, STORY, tmp_path, str(ROUNDS), seed], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr
    left = json.loads(ended.stdout)
    reported = f"PRLOOM_KILL_SEED={seed}: {left} {ended.stderr}"

    assert left["strays"] == 0, reported
    assert left["acknowledged"] > 0, reported
    assert left["expired"] > 0, reported
    for fault in ("lost", "doubled", "unfinished", "wrong_replies", "ended_twice"):
        assert left[fault] == [], reported
    assert left["active"] == 0, reported
    assert left["integrity"] == "ok", reported
