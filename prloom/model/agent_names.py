"""The names of the agent programs; each has a module of that name in prloom.agents.programs."""

from __future__ import annotations

from typing import Literal, get_args

AgentName = Literal["claude", "codex", "opencode", "gemini", "amp", "command"]
AGENT_NAMES: tuple[AgentName, ...] = get_args(AgentName)
"""All of them, in the order in which `auto` looks for them."""
