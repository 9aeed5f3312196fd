"""A machine that does runs for a dispatcher elsewhere: its own configuration, its checkout, and what it allows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prloom import flock, programs
from prloom.agents import registry
from prloom.agents.run_message import RunMessage
from prloom.agents.run_spec import RunLimits
from prloom.config.models import Config
from prloom.core.work import run_policy
from prloom.core.work.run_policy import MachinePolicy, RequestedLimits, RequestedRun, RunRefused
from prloom.errors import PrloomError
from prloom.model import kinds
from prloom.storage import paths
from prloom.workspace import repository, run_checkout
from prloom.workspace.repository import Repository

FOLDER = (*paths.LOCAL, "machine")
"""The folder, below a checkout, of all that a worker machine writes."""

_PRESENT = "workers.lock"


@dataclass(frozen=True)
class Machine:
    """What one machine does and does not; `address` is where its checkout's remote `origin` is."""

    root: Path
    config: Config
    environ: Mapping[str, str]
    address: str
    policy: MachinePolicy

    @property
    def folder(self) -> Path:
        """The folder of all that it writes."""
        return self.root.joinpath(*FOLDER)

    @property
    def names(self) -> tuple[str, ...]:
        """The further variables of its environment that runs get."""
        return (*self.config.agents.env, *self.config.sandbox.env)

    def open_repository(self) -> Repository:
        """Return the repository in which runs have their worktrees, made if need be; raises WorkspaceError."""
        return run_checkout.open_at(self.folder, self.address)

    def limits_for(self, run: str, message: RunMessage) -> RunLimits | RunRefused:
        """Return the limits within which a run is done here, or why it is not."""
        wanted = message.limits
        requested = RequestedRun(
            run=run,
            repository=message.repository,
            commit=message.commit,
            stage=message.stage,
            agent=message.agent,
            model=message.model,
            rights=message.rights,
            limits=RequestedLimits(
                wanted.wall_seconds, wanted.silence_seconds, wanted.output_bytes, wanted.stderr_bytes
            ),
        )
        judged = run_policy.judge(requested, self.policy)
        if isinstance(judged, RunRefused):
            return judged
        return RunLimits(
            wall_seconds=judged.wall_seconds,
            silence_seconds=judged.silence_seconds,
            output_bytes=judged.output_bytes,
            stderr_bytes=judged.stderr_bytes,
        )


def describe(
    root: Path,
    config: Config,
    environ: Mapping[str, str],
    *,
    stages: tuple[str, ...] = (),
    agents: tuple[str, ...] = (),
) -> Machine:
    """Return the machine of a checkout, for these stages and agents (default: all that it can do); raises PrloomError.

    An agent that is named must be there. The agent "command" is there if `[agents.command] argv` is set.
    """
    found = repository.find(root)
    address = repository.origin_address(found)
    if address is None:
        raise PrloomError(
            f"{found.root} has no remote `origin` to fetch commits from; add it with `git remote add origin URL`"
        )
    _require_stages(stages)
    own = config.agents
    default = RunLimits()
    policy = MachinePolicy(
        repository=address,
        stages=stages or kinds.STAGES,
        agents=_agents(config, environ, agents),
        works=config.work.mode != "off",
        limits=RequestedLimits(
            own.timeout.total_seconds(), own.silence.total_seconds(), own.max_output, default.stderr_bytes
        ),
    )
    return Machine(found.root, config, environ, address, policy)


def prepare(machine: Machine) -> int:
    """Make the machine's folder, and remove what workers have left that were killed; raises WorkspaceError.

    The descriptor that is returned says, as long as it is open, that workers are there.
    """
    found = repository.find(machine.root)
    repository.exclude(found, machine.root.joinpath(*paths.LOCAL))
    repo = machine.open_repository()
    present = os.open(machine.folder / _PRESENT, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if flock.try_lock(present):
        for run in run_checkout.runs(repo):
            run_checkout.remove(repo, run)
    flock.try_lock(present, shared=True)
    return present


def shown(machine: Machine) -> str:
    """Return the repository's address without a password."""
    return run_policy.shown_repository(machine.address)


def _require_stages(stages: tuple[str, ...]) -> None:
    for stage in stages:
        if stage not in kinds.STAGES:
            raise PrloomError(f"there is no stage {stage}; name some of {', '.join(kinds.STAGES)}")


def _agents(config: Config, environ: Mapping[str, str], wanted: tuple[str, ...]) -> tuple[str, ...]:
    for name in wanted:
        if name not in registry.AGENTS:
            raise PrloomError(f"there is no agent {name}; name some of {', '.join(registry.AGENTS)}")
    there = tuple(name for name in registry.AGENTS if _is_there(name, config, environ))
    for name in wanted:
        if name not in there:
            raise PrloomError(f"the agent {name} is not on this machine; install it, or leave it out of --agents")
    if not there:
        raise PrloomError("no agent is on this machine; install one, such as claude or codex, and put it on PATH")
    return wanted or there


def _is_there(name: str, config: Config, environ: Mapping[str, str]) -> bool:
    program = registry.AGENTS[name].program
    if program is None:
        return bool(config.agents.command.argv)
    return programs.locate(program, environ) is not None
