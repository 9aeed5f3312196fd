"""Build what a run's program is started with: its arguments, its folder and its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from prloom import programs
from prloom.agents import environment, parsing, registry
from prloom.agents.agent import Agent, RunRequest
from prloom.errors import AgentError


@dataclass(frozen=True)
class Launch:
    """How to start the program of a run; the environment may hold keys, so it never reaches the disk."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


def build(agent: Agent, request: RunRequest, *, environ: Mapping[str, str], names: Sequence[str] = ()) -> Launch:
    """Return how to start an agent for a request; raises AgentError where that is not possible.

    `environ` is the operator's whole environment; the agent gets the allowed part of it, with what has these names.
    """
    if request.session is not None and not parsing.is_session_id(request.session):
        raise AgentError(f"{request.session!r} cannot be the id of a session; start a new one")
    env = environment.allowed(environ, (*registry.variables(agent), *names), never=registry.session_variables())
    if request.rights == "work":
        env = environment.worker(env, request.remotes, request.root)
    settings = environment.read_settings_files(agent.settings_files(env))
    invocation = agent.invocation(replace(request, environ=env, settings=settings))
    env |= dict(invocation.env) | {environment.RUN_VARIABLE: request.run}
    program = programs.locate(invocation.argv[0], env)
    if program is None:
        raise AgentError(_missing(agent, invocation.argv[0], request.stage))
    cwd = request.cwd
    if invocation.outside:
        cwd = environment.outside(env)
    return Launch(argv=(program, *invocation.argv[1:]), cwd=cwd, env=env)


def _missing(agent: Agent, program: str, stage: str) -> str:
    if agent.program is None:
        return f"the command {program!r} of [agents.command] is not an executable program; correct argv in prloom.toml"
    return (
        f"{program} is not on PATH, but stage {stage} uses the agent {agent.name};"
        " install it, or choose another agent under [stages] in prloom.toml"
    )
