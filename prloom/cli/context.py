"""Read what every command needs from the command line: shared options, and the repository, plan or time they name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click

from prloom.errors import ConfigError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta
    from pathlib import Path

    from prloom.config.models import Config
    from prloom.storage.paths import RepositoryPaths


class Options(NamedTuple):
    """What stands before the subcommand on the command line."""

    directory: str = "."
    overrides: tuple[str, ...] = ()
    verbose: bool = False


pass_options = click.make_pass_decorator(Options, ensure=True)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def repo_root(options: Options) -> Path:
    """Return the checkout that prloom works for: the same one from every worktree of a repository, never a plan's.

    Raises WorkspaceError where there is none.
    """
    from pathlib import Path  # noqa: PLC0415 - `prloom --help` needs none

    from prloom.workspace import root  # noqa: PLC0415 - likewise

    return root.find(Path(options.directory)).path


def root_or_folder(options: Options) -> Path:
    """Return the checkout that prloom works for; outside of any repository, the folder itself."""
    from pathlib import Path  # noqa: PLC0415 - `prloom --help` needs none

    try:
        return repo_root(options)
    except WorkspaceError:
        return Path(options.directory).absolute()


def config(options: Options, *, preset: str | None = None) -> Config:
    """Return the configuration, whole and checked; costs the import of pydantic. Raises ConfigError."""
    from prloom.config import loading  # noqa: PLC0415 - 100 ms that state commands must not pay

    return loading.load(repo_root(options), os.environ, options.overrides, preset)


def extensions(options: Options) -> tuple[RepositoryPaths, Config]:
    """Return what the lists of extensions need; outside of any repository, it is the folder's, without plans.

    Raises ConfigError.
    """
    from prloom.config import layers, loading  # noqa: PLC0415 - `prloom --help` needs none
    from prloom.storage.paths import RepositoryPaths  # noqa: PLC0415 - likewise

    root = root_or_folder(options)
    config = loading.load(root, os.environ, options.overrides)
    return RepositoryPaths(root, root / layers.DEFAULT_WORKTREES_DIR), config


def worktrees_dir(options: Options) -> Path:
    """Return the absolute folder of the plans' worktrees, fast; raise ConfigError if that one key is unusable."""
    from prloom.config import layers  # noqa: PLC0415 - only commands that run need it

    return layers.peek_worktrees_dir(repo_root(options), os.environ, options.overrides)


def repository(given: Options) -> RepositoryPaths:
    """Return where the repository's files are; raises PrloomError outside a repository."""
    from prloom.storage.paths import RepositoryPaths  # noqa: PLC0415 - `prloom --help` needs none

    return RepositoryPaths(repo_root(given), worktrees_dir(given))


def repository_to_read(given: Options) -> tuple[RepositoryPaths, str | None]:
    """Return where the repository's files are, for a command that shows them, and what is wrong with prloom.toml.

    A configuration that cannot be read hides no plan: they are looked for in the default folder then.
    """
    from prloom.config import layers  # noqa: PLC0415 - `prloom --help` needs none
    from prloom.storage.paths import RepositoryPaths  # noqa: PLC0415 - likewise

    try:
        return repository(given), None
    except ConfigError as error:
        root = repo_root(given)
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


def since(text: str, now: datetime) -> datetime:
    """Return the time that an option's value names: an age such as 2h, or a date or time, local if it has no zone."""
    from prloom.config import durations  # noqa: PLC0415 - `prloom --help` needs none
    from prloom.config.problems import InvalidValue  # noqa: PLC0415 - likewise

    try:
        return durations.since(text, now)
    except InvalidValue as error:
        raise click.BadParameter(str(error), param_hint="'--since'") from None


def duration(value: object) -> timedelta:
    """Return the duration that a word spells, as the `type` of an option."""
    from prloom.config import durations  # noqa: PLC0415 - `prloom --help` needs none
    from prloom.config.problems import InvalidValue  # noqa: PLC0415 - likewise

    try:
        return durations.parse(value)
    except InvalidValue as error:
        raise click.BadParameter(f"it {error}") from None
