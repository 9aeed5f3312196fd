"""For each guarantee: a build that is weakened in one place fails the test that stands for it.

A test that cannot fail proves nothing. Each row names a guarantee, the lines that keep it, what a careless change would
make of them, and the test that must notice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Weakening(NamedTuple):
    """One careless change."""

    guarantee: str
    file: str
    strong: str
    weak: str
    test: str


WEAKENINGS = (
    Weakening(
        "P2: the decision is appended before anything else is written",
        "prloom/engine/ledger.py",
        """            position = self._decisions.append([line])
            self._take_effect(decision, now, _behind(position, line, self.state.log))
""",
        """            before = self.state
            self._take_effect(decision, now, before.log)
            position = self._decisions.append([line])
            self.state = replace(self.state, log=_behind(position, line, before.log))
""",
        "tests/engine/test_crashes.py -k killed_before_every_change",
    ),
    Weakening(
        "P1: events are on disk before the bridge's cursor is",
        "prloom/engine/poll.py",
        """        woken, complete = _append(events, desks, repository)
        if complete and polled.state != cursor:
            self._cursor.save({"state": polled.state})
        return woken
""",
        """        if polled.state != cursor:
            self._cursor.save({"state": polled.state})
        return _append(events, desks, repository)[0]
""",
        "tests/engine/test_crashes.py -k killed_before_every_change",
    ),
    Weakening(
        "P3: where an attempt's outcome is not known, the bridge is told to look first",
        "prloom/engine/delivery.py",
        "    uncertain = begun is not None\n",
        "    uncertain = False\n",
        "tests/engine/test_crashes.py -k killed_before_every_change",
    ),
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda weakening: weakening.guarantee)
def test_a_build_without_the_guarantee_fails_its_test(weakening: Weakening, tmp_path: Path):
    for folder in ("prloom", "bridges", "plugins", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", ".local"))
    for name in ("pyproject.toml", "README.md", "prloom.toml.example", "CHANGELOG.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tmp_path / name)
    file = tmp_path / weakening.file
    text = file.read_text()
    assert text.count(weakening.strong) == 1, "the lines that keep the guarantee have changed: mend this row"
    file.write_text(text.replace(weakening.strong, weakening.weak))

    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *weakening.test.split()]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "failed" in ended.stdout
