"""Find an agent by its name, or the first one that this machine has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final, cast

from prloom import programs
from prloom.agents import check, environment
from prloom.agents.activity.adapter import Adapter, PlainAdapter
from prloom.agents.agent import Agent
from prloom.errors import AgentError, AgentMissingError
from prloom.model.agent_names import AGENT_NAMES
from prloom.model.kinds import ActivityType

AGENTS: Final[Mapping[str, Agent]] = {
    name: cast("Agent", import_module(f"prloom.agents.programs.{name}")) for name in AGENT_NAMES
}
"""Every agent, in the order in which `auto` looks for them."""

TO_INSTALL_ONE: Final = (
    'install one, or name your own under [agents.command] in prloom.toml and set default = "command" under [stages]'
)
"""What a person does where the machine has no agent program."""

_BY_RUN: Final[tuple[ActivityType, ...]] = ("AGENT_START", "AGENT_END")
"""The types that every run fires, whatever its program prints."""


def get(name: str) -> Agent:
    """Return the agent of that name; raise AgentError with the nearest known one otherwise."""
    found = AGENTS.get(name)
    if found is not None:
        return found
    near = difflib.get_close_matches(name, AGENTS, n=1)
    if near:
        hint = f'did you mean "{near[0]}"?'
    else:
        hint = f"known are {', '.join(AGENTS)}"
    raise AgentError(f"there is no agent {name!r}; {hint}")


def runnable(name: str) -> Agent:
    """Return what the runs of that name start: an agent, or a check; raise AgentError where there is none."""
    if name == check.name:
        return cast("Agent", check)
    return get(name)


def allowed_environment(agent: Agent, environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return the part of the operator's environment that a run of an agent may have, with what has these names.

    Of the agents' variables it has the agent's own, and those of all for one that may wrap another; but none that ties
    a process to a session of an agent that a person has open.
    """
    wrapped: Iterable[Agent] = ()
    if agent.program is None:
        wrapped = AGENTS.values()
    keys = [name for each in (agent, *wrapped) for name in each.variables]
    of_sessions = frozenset(name for each in AGENTS.values() for name in each.session_variables)
    return environment.allowed(environ, (*keys, *names), never=of_sessions)


def activity_adapter(name: str) -> Adapter | PlainAdapter:
    """Return a new adapter for a run of this agent program; any other program is read like a `command`."""
    return AGENTS.get(name, AGENTS["command"]).activity()


def fired_by(name: str) -> tuple[ActivityType, ...]:
    """Return the types of activity that runs of this agent program can fire by themselves."""
    return (*_BY_RUN, *activity_adapter(name).fires)


def first_found(environ: Mapping[str, str]) -> Agent | None:
    """Return the first agent whose program is on PATH, or None."""
    return next((agent for agent in AGENTS.values() if agent.program and programs.locate(agent.program, environ)), None)


def to_correct(agent: Agent) -> str:
    """Return what a person does about an agent whose program does not start."""
    if agent.program is None:
        return "correct argv of [agents.command] in prloom.toml"
    return f"install {agent.program}, or choose another agent under [stages] in prloom.toml"


def auto(environ: Mapping[str, str]) -> Agent:
    """Return the agent that `stages.default = "auto"` stands for; raise AgentMissingError when the machine has none."""
    found = first_found(environ)
    if found is None:
        programs = ", ".join(agent.program for agent in AGENTS.values() if agent.program)
        raise AgentMissingError(f"no agent program on PATH (looked for {programs}); {TO_INSTALL_ONE}")
    return found
