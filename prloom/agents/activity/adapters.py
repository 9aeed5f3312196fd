"""Find the adapter of an agent program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from prloom.agents.activity import messages
from prloom.agents.activity.adapter import Adapter, PlainAdapter
from prloom.agents.activity.codex import CodexAdapter
from prloom.agents.activity.command import CommandAdapter
from prloom.agents.activity.gemini import GeminiAdapter
from prloom.agents.activity.opencode import OpencodeAdapter
from prloom.model.kinds import ActivityType

_BY_RUN: Final[tuple[ActivityType, ...]] = ("AGENT_START", "AGENT_END")
"""The types that every run fires, whatever its program prints."""

ADAPTERS: Final[Mapping[str, Callable[[], Adapter | PlainAdapter]]] = {
    "claude": messages.claude,
    "codex": CodexAdapter,
    "opencode": OpencodeAdapter,
    "gemini": GeminiAdapter,
    "amp": messages.amp,
    "command": CommandAdapter,
}


def of(agent: str) -> Adapter | PlainAdapter:
    """Return a new adapter for a run of this agent program; any other program is read like a `command`."""
    return ADAPTERS.get(agent, CommandAdapter)()


def fired_by(agent: str) -> tuple[ActivityType, ...]:
    """Return the types of events that runs of this agent program can fire by themselves."""
    return (*_BY_RUN, *of(agent).fires)
