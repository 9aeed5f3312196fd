"""Remember the pull requests that a person gave up, so that no rule adopts them again."""

from __future__ import annotations

from pathlib import Path

from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

_MOST = 1000
"""Numbers that are remembered; the lowest go first."""


def load(root: Path) -> frozenset[int]:
    """Return the numbers of the pull requests; none where nothing was noted, or the note cannot be read."""
    state = SafeDir.open(root, *paths.LOCAL, paths.BUS, paths.BUS_STATE)
    if state is None:
        return frozenset()
    with state:
        return _read(state)


def add(root: Path, number: int) -> None:
    """Note a pull request that a person gave up."""
    with SafeDir.make(root, *paths.LOCAL, paths.BUS, paths.BUS_STATE) as state:
        _write(state, _read(state) | {number})


def remove(root: Path, number: int) -> None:
    """Forget that a pull request was given up: a person adopted it again."""
    if number not in load(root):
        return
    with SafeDir.make(root, *paths.LOCAL, paths.BUS, paths.BUS_STATE) as state:
        _write(state, _read(state) - {number})


def _read(state: SafeDir) -> frozenset[int]:
    found = (Document(state, paths.DECLINED).load().value or {}).get("pullRequests")
    if not isinstance(found, list):
        return frozenset()
    return frozenset(number for number in found if isinstance(number, int))


def _write(state: SafeDir, numbers: frozenset[int]) -> None:
    Document(state, paths.DECLINED).save({"pullRequests": sorted(numbers)[-_MOST:]})
