"""Keep the secrets of plugins in a file of the user's own, outside of every repository."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from prloom.errors import StorageError
from prloom.extensions import discovery
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

FOLDER = "secrets"
_DIGITS = 16


class SecretStore:
    """The secrets that the operator has given to the plugins of one repository, by plugin and setting."""

    def __init__(self, repo_root: Path, environ: Mapping[str, str]) -> None:
        self._home = discovery.home(environ)
        digest = hashlib.sha256(os.fsencode(os.path.realpath(repo_root))).hexdigest()[:_DIGITS]
        self._name = f"{digest}.json"
        self._is_outside = not Path(os.path.realpath(self._home)).is_relative_to(os.path.realpath(repo_root))

    @property
    def path(self) -> Path:
        """The file."""
        return self._home / FOLDER / self._name

    def read(self, plugin: str) -> Mapping[str, str]:
        """Return a plugin's secrets by their settings; raises StorageError."""
        self._check_home()
        folder = SafeDir.open(self._home, FOLDER)
        if folder is None:
            return {}
        with folder:
            kept = (Document(folder, self._name).peek().value or {}).get(plugin)
        if not isinstance(kept, dict):
            return {}
        return {name: value for name, value in kept.items() if isinstance(value, str)}

    def save(self, plugin: str, values: Mapping[str, str]) -> None:
        """Add secrets of a plugin, with mode 0600; raises StorageError."""
        self._check_home()
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with SafeDir.make(self._home, FOLDER) as folder:
            Path(folder.path).chmod(0o700)
            Document(folder, self._name).update(
                lambda found: {
                    **(found.value or {}),
                    plugin: {**((found.value or {}).get(plugin) or {}), **values},
                }
            )

    def _check_home(self) -> None:
        """Raise StorageError where the file would be in the repository: an agent could read it there, or commit it."""
        if not self._is_outside:
            raise StorageError(f"{self._home} is inside the repository; set PRLOOM_HOME to a folder outside of it")
