"""`prloom plugins`: list, switch, make and test plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.plugins_list", "List all plugins, and whether and why each of them runs."),
    "enable": Lazy("prloom.cli.plugins_enable", "Enable plugins in prloom.toml."),
    "disable": Lazy("prloom.cli.plugins_disable", "Disable plugins in prloom.toml."),
    "new": Lazy("prloom.cli.plugins_new", "Create a plugin with a passing test."),
    "test": Lazy("prloom.cli.plugins_test", "Run a plugin with events of every kind."),
}

command = LazyGroup("plugins", lazy=COMMANDS, help="List, enable, disable, create and test plugins.")
