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


def shell(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the person's shell."""
    return [environ.get("SHELL") or "/bin/sh"]


def agent(where: RepositoryPaths, config: Config, plan_id: str, environ: Mapping[str, str]) -> list[str]:
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
    return [program, *found[1:]]


def run(where: RepositoryPaths, plan_id: str, kind: SessionKind, argv: Sequence[str]) -> int:
    """Run a program in a plan's worktree until it ends, and return its exit code; prloom does not work there meanwhile.

    An agent runs in the clone in which it worked, where alone it finds its session. Raises StorageError while prloom
    works there, and PrloomError where the program cannot be started.
    """
    worktree = where.worktree(plan_id)
    folder = where.clone(plan_id) if kind == "agent" and where.clone(plan_id).is_dir() else worktree
    with plan_session.reserved(where.root, plan_id, kind, datetime.now(UTC)):
        code = run_in_terminal(argv, folder)
    os.utime(worktree.joinpath(*paths.LOCAL, paths.PLAN_TEXT))  # which a running dispatcher notices
    return code


def run_in_terminal(argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> int:
    """Run a program that has the terminal until it ends, and return its exit code; raises PrloomError."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # it is for the program, which has the terminal too
    try:
        return subprocess.run(argv, cwd=cwd, env=env, check=False).returncode
    except OSError as error:
        raise PrloomError(f"{argv[0]} cannot be started: {error.strerror}") from error
    finally:
        signal.signal(signal.SIGINT, before)


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
