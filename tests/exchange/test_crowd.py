from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

STORY = Path(__file__).with_name("crowd_story.py")


@pytest.mark.timeout(600)
def test_ten_workers_do_a_thousand_jobs_once_each_and_none_is_locked_out(tmp_path: Path):
    ended = subprocess.run([sys.executable, STORY, tmp_path], capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    reported = json.loads(ended.stdout)

    assert (reported["failed"], reported["once"], reported["claims"]) == (0, True, 1000), (reported, ended.stderr)
    assert len(reported["shares"]) == 10
    assert min(reported["shares"].values()) >= 20, (
        reported
    )  # a fifth of a fair share, on a machine that does other things too
