"""`prloom start`: run the dispatcher."""

from __future__ import annotations

import click

from prloom.cli import options, terminal
from prloom.cli.options import Options, pass_options


@click.command()
@click.option("--once", is_flag=True, help="Do exactly one full tick: poll, dispatch, wait for the agents, deliver.")
@click.option("--dry-run", is_flag=True, help="Show what would be decided; write and send nothing, run no agent.")
@pass_options
def command(given: Options, *, once: bool, dry_run: bool) -> None:
    """Run the dispatcher of this repository, until it is interrupted."""
    import asyncio  # noqa: PLC0415 - the dispatcher's imports are its own to pay

    from prloom.engine import assembly, dryrun  # noqa: PLC0415

    root = options.repo_root(given)
    config = options.config(given)
    if dry_run:
        for line in asyncio.run(dryrun.decisions(root, config)):
            click.echo(terminal.clean(line))
        return
    if not given.verbose:
        terminal.log_to_stderr("INFO")
    asyncio.run(_run(assembly, root, config, once=once))


async def _run(assembly, root, config, *, once: bool) -> None:  # noqa: ANN001
    dispatcher = assembly.assemble(root, config)
    if once:
        await dispatcher.once()
    else:
        await dispatcher.run(config.dispatcher.tick_interval)
