"""`prloom plugins`: list, switch, make and test plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.plugins_list", "List the plugins there are, and why each runs or not."),
    "enable": Lazy("prloom.cli.plugins_enable", "Switch plugins on, in prloom.toml."),
    "disable": Lazy("prloom.cli.plugins_disable", "Switch plugins off, in prloom.toml."),
    "new": Lazy("prloom.cli.plugins_new", "Make a plugin of your own, with a passing test."),
    "test": Lazy("prloom.cli.plugins_test", "Run a plugin against events of every shape."),
}

command = LazyGroup("plugins", lazy=COMMANDS, help="List, switch, make and test plugins.")
