"""Do the runs that a dispatcher of this machine has prepared: the job of a local worker of the exchange."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from prloom import flock
from prloom.agents import disk_room, mcp_server, registry, run_folder, run_message, run_status, runner, supervision
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_message import RunMessage, RunReply
from prloom.agents.run_spec import RunSpec
from prloom.agents.run_status import RunFinished, RunInProgress, RunInterrupted, RunStatus
from prloom.agents.supervision import SupervisingWorker, Supervision
from prloom.errors import AgentError, PrloomError
from prloom.exchange.claim import Completed, Failed, Settlement
from prloom.exchange.message import Message
from prloom.exchange.worker.job import JobLost, WorkerIdentity
from prloom.exchange.worker.lease import Lease
from prloom.exchange.worker.supervisor import SignalPipe

_PAUSE: Final = 0.1
_PATIENCE: Final = 40.0
"""Seconds in which a worker that has lost its claim ends the run that it has begun."""


class LocalRuns:
    """Does runs in the worktrees of this machine.

    What to start comes from the run's folder, which the dispatcher has made; the environment is this process's own, so
    that no key is on disk. A run is begun once only: where its folder says that it was begun before, it is not begun
    again, whatever became of it.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def run(self, lease: Lease, signals: SignalPipe, identity: WorkerIdentity) -> Settlement | JobLost:
        """Do the run of a message, and return the reply to it."""
        try:
            folder, asked = located(lease.claimed.message)
            agent = registry.runnable(asked.agent)
        except AgentError as error:
            return replied(RunResult(status="unusable", trouble="start", error=str(error)))
        lock = self._begin(folder, signals)
        ended = None
        if lock is not None:
            try:
                ended = self._supervise(folder, asked, agent, SupervisingWorker(lease, signals, identity))
            finally:
                os.close(lock)
        lost = lease.lost(time.monotonic())
        result = runner.conclude(folder, agent, _status(folder, ended))
        if lost:
            return JobLost(lost)
        return replied(result)

    def _begin(self, folder: Path, signals: SignalPipe) -> int | None:
        """Return the locked `running.lock` of a run that is to begin; None for one that was begun before."""
        given_up = time.monotonic() + _PATIENCE
        try:
            lock = run_folder.open_new(folder, run_folder.LOCK)
        except FileExistsError:
            while isinstance(run_status.inspect(folder), RunInProgress) and time.monotonic() < given_up:
                signals.wait(_PAUSE)
            return None
        except OSError:  # the folder is gone
            return None
        flock.wait_and_lock(lock)  # at most the moment that an `inspect` takes
        return lock

    def _supervise(self, folder: Path, asked: RunMessage, agent: Agent, worker: SupervisingWorker) -> ProcessExit:
        """Do a run to its end, and return how that was; it is also written down, as soon as the disk has room."""
        begun, program = datetime.now(tz=UTC), agent.name
        try:
            spec = self._spec(folder)
            prepared = runner.build_launch(
                agent, self._request(folder, asked, spec), environ=self._environ, names=spec.names
            )
            program = prepared.argv[0]
            worker.lease.confirm()  # who cancels a run that nobody has begun may rely on it that it never starts
            if worker.lease.lost(time.monotonic()):
                ended = supervision.not_started(None, begun, ended_by="terminated")
            else:
                ended = Supervision(folder, prepared, agent, spec.limits, worker).run()
        except OSError as error:
            ended = supervision.not_started(f"{program}: {error.strerror} ({error.filename})", begun)
        except PrloomError as error:
            ended = supervision.not_started(str(error), begun)
        written = run_folder.encode(ended)
        disk_room.wait(worker.lease, worker.signals, lambda: run_folder.replace(folder, run_folder.EXIT, written))
        return ended

    def _spec(self, folder: Path) -> RunSpec:
        spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
        if spec is None:
            raise AgentError(f"{folder / run_folder.INVOCATION} cannot be read")
        return spec

    def _request(self, folder: Path, asked: RunMessage, spec: RunSpec) -> RunRequest:
        root = Path(spec.root)
        server = None
        if spec.call_seconds is not None:
            server = mcp_server.of_run(folder, root, timedelta(seconds=spec.call_seconds))
        return RunRequest(
            prompt=asked.prompt,
            stage=asked.stage,
            cwd=Path(spec.cwd),
            root=root,
            model=asked.model,
            rights=asked.rights,
            plan=asked.plan,
            todo=asked.todo,
            session=asked.session,
            answer_path=folder / run_folder.ANSWER,
            argv=spec.program,
            server=server,
            inherit=spec.inherit,
            sandbox=spec.sandbox,
            run=folder.name,
        )


def _status(folder: Path, ended: ProcessExit | None) -> RunStatus:
    """Return what has become of a run: by its folder, or by how it `ended` just now, which a full disk has no room for.

    A folder that was removed says so in any case.
    """
    found = run_status.inspect(folder)
    if ended is not None and isinstance(found, RunInterrupted):
        return RunFinished(ended)
    return found


def located(message: Message) -> tuple[Path, RunMessage]:
    """Return the folder that a message names, and the run; raises AgentError where this machine has not made it."""
    asked = run_message.read_message(message.body)
    folder = message.metadata.get(run_message.FOLDER)
    machine = message.metadata.get(run_message.MACHINE)
    if not isinstance(folder, str) or machine != platform.node():
        raise AgentError(f"the run was prepared on {machine or 'no machine'}; only a worker there can do it")
    return Path(folder), asked


def replied(result: RunResult) -> Completed | Failed:
    """Return how the claim of a run's message is settled."""
    body = run_message.encode(RunReply(result=result))
    if result.status == "ok":
        return Completed(body=body)
    return Failed(error=result.error or result.trouble or result.status, body=body)
