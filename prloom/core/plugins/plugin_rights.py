"""Decide whether a plugin's daemon may send a request, by what the operator has permitted it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from prloom.core.text import naming

Right = Literal["add_messages", "emit_events", "access_context", "trigger_agent"]

NEEDED: Final[Mapping[str, Right]] = {
    "add_message": "add_messages",
    "emit_action": "add_messages",
    "emit_event": "emit_events",
    "get_context": "access_context",
    "read_events": "access_context",
    "run_agent": "trigger_agent",
}
"""The right that a method needs; the other methods need none."""


@dataclass(frozen=True)
class PluginRights:
    """What the operator permits one plugin; nothing, unless they say so. The limits count requests in any minute."""

    add_messages: bool = False
    emit_events: bool = False
    access_context: bool = False
    trigger_agent: bool | Literal["worker"] = False
    messages_per_minute: int = 10
    events_per_minute: int = 60


def denial(plugin: str, method: str, rights: PluginRights, stage: str | None = None) -> str | None:
    """Return why a plugin may not call a method, with the key that the operator would have to set; or None.

    `stage` is that of the agent which the plugin wants to run.
    """
    needed = NEEDED.get(method)
    if needed is None:
        return None
    given = getattr(rights, needed)
    if needed == "trigger_agent" and stage == "worker" and given != "worker":
        return _denied(plugin, method, needed, '"worker"')
    if not given:
        return _denied(plugin, method, needed, "true")
    return None


def _denied(plugin: str, method: str, right: Right, value: str) -> str:
    return f"{method}: permission denied; it needs {right} = {value} in {table(plugin)} of prloom.toml"


def table(plugin: str) -> str:
    """Return the name of the table with a plugin's permissions, as it is written in prloom.toml."""
    if "/" in plugin:
        plugin = f'"{naming.printable(plugin)}"'
    return f"[plugins.permissions.{plugin}]"
