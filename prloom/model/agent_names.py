"""The names of the agent programs; each has a module of that name in prloom.agents.programs."""

from __future__ import annotations

from typing import Final, Literal, get_args

AgentName = Literal["claude", "codex", "opencode", "gemini", "amp", "command"]
AGENT_NAMES: tuple[AgentName, ...] = get_args(AgentName)
"""All of them, in the order in which `auto` looks for them."""

AUTO: Final = "auto"
"""What stands for the first of them that this machine has."""
GIT: Final = "git"
"""The program that commits; what it lacks keeps the work waiting as a missing agent program does."""

Inherited = Literal["memory", "hooks", "mcp"]
"""What of the operator's own a run of an agent program has only if the operator lets it in.

`memory`: the files with standing instructions. `hooks`: hooks, notify programs and plugins. `mcp`: MCP servers.
"""

INHERITING: Final[tuple[AgentName, ...]] = ("claude", "codex", "opencode", "gemini")
"""The programs that can leave some of it out, and so can be asked to let it in."""
