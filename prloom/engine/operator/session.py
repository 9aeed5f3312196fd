"""Give a person the worktree of a plan, with a shell or with the agent that worked there last."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from prloom import programs
from prloom.agents import interactive, registry
from prloom.agents.agent import Agent
from prloom.config import stages
from prloom.config.models import Config
from prloom.engine.bus import entries, plans
from prloom.engine.operator import emit
from prloom.engine.views import snapshot
from prloom.errors import AgentError, PrloomError
from prloom.storage import paths, plan_session
from prloom.storage.paths import RepositoryPaths
from prloom.storage.plan_session import SessionKind
from prloom.storage.reader import JournalReader

STAGE = "worker"


class LastSession(NamedTuple):
    """The session of the latest worker on a plan, and the agent whose it is."""

    agent: str
    id: str


class AgentCommand(NamedTuple):
    """The command line of an agent in its interactive mode, and the agent."""

    agent: Agent
    argv: list[str]


def shell(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the person's shell."""
    return [environ.get("SHELL") or "/bin/sh"]


def agent(where: RepositoryPaths, config: Config, plan_id: str, environ: Mapping[str, str]) -> AgentCommand:
    """Return the command line of the worker's agent in its interactive mode, which goes on with its last session.

    Raises AgentError where that agent has no such mode, or is not installed.
    """
    with emit.open_local(where, plan_id) as local:
        choice = stages.stage(config.for_preset(plans.load(local).preset), STAGE)
    last = _last_session(where, plan_id)
    name = choice.agent
    if name == "auto":
        name = registry.auto(environ).name
    if last is not None and choice.agent in {"auto", last.agent}:
        name = last.agent
    chosen = registry.get(name)
    resumed = last.id if last is not None and last.agent == name else None
    found = interactive.argv(chosen, session=resumed, model=choice.model)
    program = programs.locate(found[0], environ)
    if program is None:
        raise AgentError(f"{found[0]} is not on PATH; install it, or use --shell")
    return AgentCommand(chosen, [program, *found[1:]])


def run(where: RepositoryPaths, plan_id: str, kind: SessionKind, argv: Sequence[str]) -> int:
    """Run a program in a plan's worktree until it ends, and return its exit code; prloom does not work there meanwhile.

    Raises StorageError while prloom works there, and PrloomError where the program cannot be started.
    """
    with plan_session.reserved(where.root, plan_id, kind, datetime.now(UTC)):
        code = run_in_terminal(argv, where.worktree(plan_id))
    notify(where, plan_id)
    return code


def notify(where: RepositoryPaths, plan_id: str) -> None:
    """Let a running dispatcher notice that a session of a plan has ended."""
    os.utime(where.worktree(plan_id).joinpath(*paths.LOCAL, paths.PLAN_TEXT))


def run_in_terminal(argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> int:
    """Run a program that has the terminal until it ends, and return its exit code; raises PrloomError."""
    # They are for the program, which has the terminal too; prloom goes on with what comes after it.
    before = [(each, signal.signal(each, lambda *_: None)) for each in (signal.SIGINT, signal.SIGHUP)]
    try:
        return subprocess.run(argv, cwd=cwd, env=env, check=False).returncode
    except OSError as error:
        raise PrloomError(f"{argv[0]} cannot be started: {error.strerror}") from error
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def _last_session(where: RepositoryPaths, plan_id: str) -> LastSession | None:
    """Return the session that the log of a plan names last."""
    bus = snapshot.open_bus(where, plan_id)
    if bus is None:
        return None
    found = None
    with bus:
        for logged in entries.logged_decisions(JournalReader(bus, paths.DECISIONS).containing(b'"session":"')):
            step = logged.decision.work
            if step is not None and step.work is not None and step.work.session and step.work.agent:
                found = LastSession(step.work.agent, step.work.session)
    return found
