"""Talk with an agent in a terminal: find the command line for it, or say that the agent has none."""

from __future__ import annotations

from prloom.agents import registry
from prloom.agents.agent import Agent
from prloom.errors import AgentError


def argv(agent: Agent, *, session: str | None = None, model: str | None = None, prompt: str | None = None) -> list[str]:
    """Return the command line of an agent's interactive mode; raises AgentError where prloom knows none.

    With a `session` it goes on with that one; a `prompt` is what is said first.
    """
    found = agent.interactive(session=session, model=model, prompt=prompt)
    if found is None:
        known = ", ".join(name for name, other in registry.AGENTS.items() if has_mode(other))
        raise AgentError(f"prloom knows no interactive mode of the agent {agent.name}, only of {known}; use --shell")
    return list(found)


def has_mode(agent: Agent) -> bool:
    """Whether there is an interactive mode of an agent that prloom can start."""
    return agent.interactive(session=None, model=None, prompt=None) is not None
