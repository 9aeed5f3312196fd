"""`prloom plugins`: list, enable, disable, create, test and control plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.plugins.listing", "List all plugins, and whether and why each of them runs."),
    "enable": Lazy("prloom.cli.plugins.switch", "Enable plugins in prloom.toml.", "enable"),
    "disable": Lazy("prloom.cli.plugins.switch", "Disable plugins in prloom.toml.", "disable"),
    "new": Lazy("prloom.cli.plugins.new", "Create a plugin with a passing test."),
    "test": Lazy("prloom.cli.plugins.test", "Run a plugin with events of every kind."),
    "status": Lazy("prloom.cli.plugins.daemons", "Show the daemons of background plugins.", "status"),
    "start": Lazy("prloom.cli.plugins.daemons", "Start a plugin's daemon.", "start"),
    "stop": Lazy("prloom.cli.plugins.daemons", "Stop a plugin's daemon.", "stop"),
    "restart": Lazy("prloom.cli.plugins.daemons", "Restart a plugin's daemon.", "restart"),
    "logs": Lazy("prloom.cli.plugins.daemons", "Show what a plugin's daemon printed.", "logs"),
    "config": Lazy("prloom.cli.plugins.config", "Give a background plugin its settings."),
}

command = LazyGroup("plugins", lazy=COMMANDS, help="List, enable, disable, create, test and control plugins.")
