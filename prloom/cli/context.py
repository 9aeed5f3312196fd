"""Find what a command is about: the repository's files, and the plan that the user named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli import options
from prloom.errors import ConfigError
from prloom.storage.paths import RepositoryPaths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prloom.cli.options import Options

NO_PLANS = "no plans yet; adopt one with `prloom adopt --branch BRANCH`"


def repository(given: Options) -> RepositoryPaths:
    """Return where the repository's files are; raises PrloomError outside a repository."""
    return RepositoryPaths(options.repo_root(given), options.worktrees_dir(given))


def repository_to_read(given: Options) -> tuple[RepositoryPaths, str | None]:
    """Return where the repository's files are, for a command that shows them, and what is wrong with prloom.toml.

    A configuration that cannot be read hides no plan: they are looked for in the default folder then.
    """
    from prloom.config import layers  # noqa: PLC0415 - `prloom --help` needs none

    try:
        return repository(given), None
    except ConfigError as error:
        root = options.repo_root(given)
        return RepositoryPaths(root, root / layers.DEFAULT_WORKTREES_DIR), str(error)


def plan_id(where: RepositoryPaths, named: str) -> str:
    """Return the id of the plan that was named by its id, its branch, or the number of its pull request.

    Raises PrloomError with the nearest name where there is none.
    """
    from prloom.engine.views import plan_names  # noqa: PLC0415 - `prloom --help` needs none

    return plan_names.find(where, named)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question that names the nearest known word; empty where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

    close = get_close_matches(word, list(known), n=1)
    if close:
        return f"did you mean {close[0]}?"
    return ""
