"""Tell where the worktrees are without checking the whole configuration: state commands must start fast."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prloom.config import layers, sources
from prloom.config.problems import Problem, shown
from prloom.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT = "prloom/.local/worktrees"
_KEY = "worktrees_dir"


def peek_worktrees_dir(repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = ()) -> Path:
    """Return the absolute folder that holds the plans' worktrees; raise ConfigError if this one key is unusable."""
    said = sources.read(repo_root, environ, overrides)
    value = layers.merge(said).get(_KEY, DEFAULT)
    last = layers.said_by(said, (_KEY,))
    if last is not None and last.raw is not None and not isinstance(value, str):
        value = last.raw
    if not isinstance(value, str) or not value:
        if last:
            origin = last.origin
        else:
            origin = sources.FILE_NAME
        raise ConfigError(Problem(origin, _KEY, f"{_KEY} is {shown(value)}", "name a folder, in quotes").line())
    return under(repo_root, Path(value))


def under(repo_root: Path, folder: Path) -> Path:
    """Return a configured folder as an absolute path: `~` is the home folder, the rest is below the repository."""
    return repo_root / folder.expanduser()
