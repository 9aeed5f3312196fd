"""A real file system with little room, for tests of full disks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Have a real file system of so many megabytes; skipped where none may be mounted."""
    folder.mkdir()
    options = f"size={megabytes}m"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "prloom-test", folder], check=False, timeout=60)
    if made.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=60)
