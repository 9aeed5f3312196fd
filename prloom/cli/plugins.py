"""`prloom plugins`: list the plugins, and why each runs or not; the other commands are modules of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from prloom.cli import context, layout, terminal
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prloom.cli.terminal import Role
    from prloom.engine.catalog import PluginLine


COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.plugins", "List all plugins, and whether and why each of them runs.", "list_plugins"),
    "enable": Lazy("prloom.cli.plugins_switch", "Enable plugins in prloom.toml.", "enable"),
    "disable": Lazy("prloom.cli.plugins_switch", "Disable plugins in prloom.toml.", "disable"),
    "new": Lazy("prloom.cli.plugins_new", "Create a plugin with a passing test."),
    "test": Lazy("prloom.cli.plugins_test", "Run a plugin with events of every kind."),
    "status": Lazy("prloom.cli.plugins_daemons", "Show the daemons of background plugins.", "status"),
    "start": Lazy("prloom.cli.plugins_daemons", "Start a plugin's daemon.", "start"),
    "stop": Lazy("prloom.cli.plugins_daemons", "Stop a plugin's daemon.", "stop"),
    "restart": Lazy("prloom.cli.plugins_daemons", "Restart a plugin's daemon.", "restart"),
    "logs": Lazy("prloom.cli.plugins_daemons", "Show what a plugin's daemon printed.", "logs"),
    "config": Lazy("prloom.cli.plugins_config", "Give a background plugin its settings."),
}

command = LazyGroup("plugins", lazy=COMMANDS, help="List, enable, disable, create, test and control plugins.")


_ROLES: Mapping[str, Role] = {"enabled": "good", "disabled": "dim", "failed": "bad"}


@click.command("list")
@json_option
@pass_options
def list_plugins(given: Options, *, as_json: bool) -> None:
    """List all plugins, where they come from, what they offer, and whether and why each of them runs.

    None of their code is run. What an enabled plugin offers is known after a dispatcher has loaded it.
    """
    from prloom.engine import catalog  # noqa: PLC0415 - `prloom plugins list --help` needs none

    where = context.repository(given)
    found = catalog.plugins(where, context.config(given), os.environ)
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
            nothing = "it registers nothing"
        yield "; ".join(offered) or terminal.paint(nothing, "dim")
    yield from (terminal.paint(terminal.clean(warning), "warn") for warning in plugin.warnings)
