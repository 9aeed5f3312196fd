"""The options that all commands share, and what every command needs to know from them: where, and how configured."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.config.models import Config


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


def config(options: Options, *, preset: str | None = None) -> Config:
    """Return the configuration, whole and checked; costs the import of pydantic. Raises ConfigError."""
    from prloom.config import loading  # noqa: PLC0415 - 100 ms that state commands must not pay

    return loading.load(repo_root(options), os.environ, options.overrides, preset)


def worktrees_dir(options: Options) -> Path:
    """Return the absolute folder of the plans' worktrees, fast; raise ConfigError if that one key is unusable."""
    from prloom.config import layers  # noqa: PLC0415 - only commands that run need it

    return layers.peek_worktrees_dir(repo_root(options), os.environ, options.overrides)
