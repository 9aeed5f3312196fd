"""The options that all commands share, and what every command needs to know from them: where, and how configured."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click

from prloom.errors import PrloomError

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
    """Return the root of the checkout that prloom looks after: the nearest one at or above the directory.

    In a plan's worktree it is the checkout to which that belongs: a pull request never brings its own configuration.
    Raises PrloomError where there is none.
    """
    from pathlib import Path  # noqa: PLC0415 - `prloom --help` needs none

    start = Path(options.directory).absolute()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return _main_checkout(folder) or folder
    raise PrloomError(f"no git repository at {start} or above; go into one, or name it with `prloom -C PATH`")


def config(options: Options, *, preset: str | None = None) -> Config:
    """Return the configuration, whole and checked; costs the import of pydantic. Raises ConfigError."""
    from prloom.config import loading  # noqa: PLC0415 - 100 ms that state commands must not pay

    return loading.load(repo_root(options), os.environ, options.overrides, preset)


def worktrees_dir(options: Options) -> Path:
    """Return the absolute folder of the plans' worktrees, fast; raise ConfigError if that one key is unusable."""
    from prloom.config import peek  # noqa: PLC0415 - only commands that run need it

    return peek.peek_worktrees_dir(repo_root(options), os.environ, options.overrides)


def _main_checkout(folder: Path) -> Path | None:
    """Return the checkout whose plan has its worktree here; None for a checkout of its own.

    A linked worktree has a file `.git` that says `gitdir: <main>/.git/worktrees/<name>` (gitrepository-layout(5)).
    One that a person made is a checkout like any other; only those below the main checkout's `worktrees_dir` are ours.
    """
    from pathlib import Path  # noqa: PLC0415

    from prloom.config import peek  # noqa: PLC0415

    link = folder / ".git"
    text = link.read_text("utf-8", "replace") if link.is_file() else ""
    git_dir = Path(folder, text.removeprefix("gitdir:").strip())
    if not text.startswith("gitdir:") or git_dir.parent.name != "worktrees" or git_dir.parent.parent.name != ".git":
        return None
    main = git_dir.parent.parent.parent
    plans = peek.peek_worktrees_dir(main, os.environ)
    return main if plans.resolve() in folder.resolve().parents else None
