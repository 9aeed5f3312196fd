"""Note which runs began and have no end in their activity yet, for the dispatcher that comes after this one."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from prloom.errors import StorageError, UnsafePathError
from prloom.storage import json_codec, paths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_PLAN: Final = "plan"
_LIMIT: Final = 4096


class StartedRuns:
    """One small file for each such run, in the main checkout: as many as there are runs that go on."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, run_id: str, plan_id: str | None) -> None:
        """Note a run; where the disk does not take it, that is logged, and the run goes on."""
        try:
            with SafeDir.make(self._root, *paths.LOCAL, paths.STARTED_RUNS) as folder:
                folder.replace(run_id, json_codec.encode({_PLAN: plan_id}), lasting=False)
        except StorageError as error:
            log.warning("that run %s has started is not noted: %s", run_id, error)

    def remove(self, run_id: str) -> None:
        """Forget a run, noted or not."""
        try:
            folder = SafeDir.open(self._root, *paths.LOCAL, paths.STARTED_RUNS)
            if folder is not None:
                with folder:
                    folder.remove(run_id)
        except StorageError as error:
            log.warning("that run %s has ended is not noted: %s", run_id, error)

    def all(self) -> dict[str, str | None]:
        """Return the runs that are noted, each with its plan; what is no file there notes none."""
        folder = SafeDir.open(self._root, *paths.LOCAL, paths.STARTED_RUNS)
        if folder is None:
            return {}
        with folder:
            found: dict[str, str | None] = {}
            for name in folder.names():
                if not name.startswith("."):
                    with suppress(UnsafePathError):
                        found[name] = _plan(folder, name)
            return found


def _plan(folder: SafeDir, name: str) -> str | None:
    found = json_codec.decode(folder.read_bytes(name, limit=_LIMIT) or b"")
    if isinstance(found, dict) and isinstance(found.get(_PLAN), str):
        return str(found[_PLAN])
    return None
