"""`prloom skills`: list the skills that plugins offer to agents."""

from __future__ import annotations

import os

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.lazy import Lazy, LazyGroup
from prloom.cli.output import terminal

COMMANDS = {"list": Lazy("prloom.cli.skills", "List the skills that plugins offer to agents.", "list_skills")}

command = LazyGroup("skills", lazy=COMMANDS, help="List the skills that plugins offer to agents.")


@click.command("list")
@json_option
@pass_options
def list_skills(given: Options, *, as_json: bool) -> None:
    """List the skills of all plugins, by the names that agents know them by.

    What a plugin offers is known after a dispatcher has loaded it.
    """
    from prloom.engine import catalog  # noqa: PLC0415 - `prloom skills list --help` needs none
    from prloom.extensions import keys  # noqa: PLC0415 - likewise

    found = catalog.plugins(*context.extensions(given), os.environ)
    names = {f"{keys.slug(plugin.name)}/{name}": plugin.name for plugin in found.plugins for name in plugin.skills}
    if as_json:
        listed = [{"name": name, "plugin": key, "uri": f"skill://{name}"} for name, key in names.items()]
        terminal.echo_json({"skills": listed})
    elif names:
        click.echo("\n".join(terminal.clean(name) for name in names))
    else:
        click.echo("No plugin offers a skill; a plugin registers one with `ctx.register_skill(name, path)`.")
