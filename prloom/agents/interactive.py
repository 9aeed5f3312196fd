"""Write the command lines by which agent programs talk with a person in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from prloom.agents.agent import Agent
from prloom.errors import AgentError


def argv(agent: Agent, *, session: str | None = None, model: str | None = None, prompt: str | None = None) -> list[str]:
    """Return the command line of an agent's interactive mode; raises AgentError where prloom knows none.

    With a `session` it goes on with that one; a `prompt` is what is said first.
    """
    build = _MODES.get(agent.name)
    if build is None:
        known = ", ".join(_MODES)
        raise AgentError(f"prloom knows no interactive mode of the agent {agent.name}, only of {known}; use --shell")
    return build(session, model, prompt)


def has_mode(agent: Agent) -> bool:
    """Whether there is an interactive mode of an agent that prloom can start."""
    return agent.name in _MODES


def _claude(session: str | None, model: str | None, prompt: str | None) -> list[str]:
    return ["claude", *_option("--resume", session), *_option("--model", model), *_said(prompt)]


def _codex(session: str | None, model: str | None, prompt: str | None) -> list[str]:
    resumed = ["resume", session] if session else []
    return ["codex", *_option("--model", model), *resumed, *_said(prompt)]


def _opencode(session: str | None, model: str | None, prompt: str | None) -> list[str]:
    return ["opencode", *_option("--session", session), *_option("--model", model), *_option("--prompt", prompt)]


def _gemini(session: str | None, model: str | None, prompt: str | None) -> list[str]:
    said = _option("--prompt-interactive", prompt)
    return ["gemini", *_option("--resume", session), *_option("--model", model), *said]


def _option(name: str, value: str | None) -> list[str]:
    if value is None:
        return []
    return [name, value]


def _said(prompt: str | None) -> list[str]:
    if prompt is None:
        return []
    return ["--", prompt]


_MODES: Final[Mapping[str, Callable[[str | None, str | None, str | None], list[str]]]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
}
