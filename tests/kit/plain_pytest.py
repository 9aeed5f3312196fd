"""Run the tests that somebody else wrote, as their author does: with pytest alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import environment


def run(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Run the tests at a path in the folder, without any plugin of pytest, and return how they ended."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment.nested(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
