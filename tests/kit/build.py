"""A copy of the tree in which one file at a time is weakened."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("prloom", "bridges", "plugins", "tests")


class Build:
    """A copy of the tree that several share one after the other: each weakens it, and puts back what it took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._times = itertools.count(1)
        for each in NEEDED:
            shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns(".local", "*.pyc.*"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    @contextmanager
    def changed(self, name: str, strong: str, weak: str) -> Iterator[None]:
        """Have `weak` in the place of `strong` in a file."""
        file = self.folder / name
        text, found = file.read_text(), file.stat()
        assert text.count(strong) == 1, f"{name} has changed: mend this row"
        file.write_text(text.replace(strong, weak))
        # By a file's time and size Python tells whether what it compiled is of this text: no two texts have one time.
        time = next(self._times)
        os.utime(file, times=(time, time))
        try:
            yield
        finally:
            file.write_text(text)
            os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
