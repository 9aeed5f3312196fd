"""`prloom plugins list`: list the plugins, and why each runs or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prloom.cli.output.terminal import Role
    from prloom.engine.catalog import PluginLine


_ROLES: Mapping[str, Role] = {"enabled": "good", "disabled": "dim", "failed": "bad"}


@click.command("list")
@json_option
@pass_options
def command(given: Options, *, as_json: bool) -> None:
    """List all plugins, where they come from, what they offer, and whether and why each of them runs.

    None of their code is run. What an enabled plugin offers is known after a dispatcher has loaded it. Outside of a
    repository, the bundled plugins, your own, and those of installed packages are listed.
    """
    from prloom.engine import catalog  # noqa: PLC0415 - `prloom plugins list --help` needs none

    found = catalog.plugins(*context.extensions(given), os.environ)
    if as_json:
        terminal.echo_json(found)
    elif found.plugins:
        click.echo("\n".join(_lines(found.plugins)))
    else:
        click.echo("There are no plugins; `prloom plugins new NAME` creates one.")
    if not as_json:
        for warning in found.warnings:
            click.echo(f"{terminal.paint('warning', 'warn')}: {terminal.clean(warning)}")


def _lines(found: Sequence[PluginLine]) -> Iterator[str]:
    room = max(terminal.columns_of(terminal.clean(plugin.name)) for plugin in found) + 2
    widest = max(len(plugin.state) for plugin in found)
    for plugin in found:
        state = terminal.paint(plugin.state, _ROLES.get(plugin.state, "warn")) + " " * (widest - len(plugin.state))
        what = terminal.clean(plugin.description)
        yield from layout.item(
            terminal.clean(plugin.name),
            f"{state}  {terminal.clean(plugin.source)}{f'  {what}' if what else ''}",
            *_details(plugin),
            room=room,
        )


def _details(plugin: PluginLine) -> Iterator[str]:
    if plugin.reason:
        yield terminal.clean(plugin.reason)
    offers = {
        "hooks": plugin.hooks,
        "commands": tuple(f"/{name}" for name in plugin.commands),
        "tools": plugin.tools,
        "skills": plugin.skills,
    }
    offered = [f"{name}: {', '.join(map(terminal.clean, those))}" for name, those in offers.items() if those]
    if plugin.state == "enabled":
        nothing = "what it offers is known after a dispatcher has loaded it"
        if plugin.loaded:
            nothing = "no hooks, commands, tools or skills with these settings"
        yield "; ".join(offered) or terminal.paint(nothing, "dim")
    yield from (terminal.paint(terminal.clean(warning), "warn") for warning in plugin.warnings)
