"""`prloom help`: show the help of prloom or of one command, as `--help` does."""

from __future__ import annotations

import click

from prloom.cli.lazy import LazyGroup


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND]…")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a COMMAND, such as `status` or `plugins list`; without one, list all commands."""
    shown = ctx.find_root()
    for name in names:
        group = shown.command
        if not isinstance(group, LazyGroup):
            raise click.UsageError(f"{shown.command_path} has no commands of its own", shown)
        found = group.get_command(shown, name)
        if found is None:
            raise group.unknown(shown, name)
        shown = click.Context(found, parent=shown, info_name=name)
    click.echo(shown.get_help())
