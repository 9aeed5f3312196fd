"""`prloom start`: run the dispatcher."""

from __future__ import annotations

from pathlib import Path

import click

from prloom.cli import options, terminal
from prloom.cli.options import Options, pass_options
from prloom.errors import PrloomError

RUNNING = "prloom is running. Press Ctrl-C to stop it; run `prloom status` in another terminal to see what waits."


@click.command()
@click.option("--once", is_flag=True, help="Do exactly one full tick: poll, dispatch, wait for the agents, deliver.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be decided, but write nothing, send nothing and run no agent."
)
@pass_options
def command(given: Options, *, once: bool, dry_run: bool) -> None:
    """Run the dispatcher of this repository until you interrupt it.

    If this interrupts an agent's run, the next start runs the agent again; this does not count as an attempt.
    """
    import asyncio  # noqa: PLC0415 - the dispatcher's imports are its own to pay

    from prloom.cli import config_check, logs, run_dispatcher  # noqa: PLC0415
    from prloom.workspace import root as roots  # noqa: PLC0415

    found, config = roots.find(Path(given.directory)), options.config(given)
    root = found.path
    if not dry_run:
        roots.claim(found)
        config_check.remember_valid(given)
    if not given.verbose:
        logs.to_stderr("INFO" if not once and not dry_run else "WARNING")
    if dry_run:
        with terminal.progress("deciding"):
            lines = asyncio.run(run_dispatcher.dry_run(root, config))
        for line in lines or ("Nothing would be done.",):
            click.echo(terminal.clean(line))
    elif once:
        with terminal.progress("one round"):
            failed = asyncio.run(run_dispatcher.once(root, config))
        click.echo(_outcome(options.worktrees_dir(given), root))
        if failed:
            raise PrloomError("\n".join(failed))  # the round is done all the same, for the other bridges
    else:
        asyncio.run(run_dispatcher.for_ever(root, config, lambda: click.echo(RUNNING)))


def _outcome(worktrees: Path, root: Path) -> str:
    """Return in one line what is left after a round."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from prloom.cli import status_text  # noqa: PLC0415
    from prloom.engine.views import status  # noqa: PLC0415
    from prloom.storage.paths import RepositoryPaths  # noqa: PLC0415

    left = status.read(RepositoryPaths(root, worktrees), datetime.now(UTC))
    return f"{status_text.totals(left)} `prloom status` shows more."
