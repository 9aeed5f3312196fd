"""`prloom bridges`: list the bridges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.bridges_list", "List the bridges, and the targets that they claim."),
}

command = LazyGroup("bridges", lazy=COMMANDS, help="List the bridges.")
