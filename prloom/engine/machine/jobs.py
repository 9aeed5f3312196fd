"""Do the runs that the messages of the exchange ask for, on a worker machine, and reply with what they came to."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from prloom.agents import run_message
from prloom.agents.run_message import RunMessage, RunReply
from prloom.agents.run_spec import RunLimits
from prloom.agents.supervision import SupervisingWorker
from prloom.core.work import run_policy
from prloom.core.work.run_policy import RunRefused
from prloom.engine.machine import agent_slots, remote_run
from prloom.engine.machine.machine import Machine
from prloom.engine.machine.remote_run import PreparedRun
from prloom.errors import AgentError, PrloomError
from prloom.exchange.claim import Completed, Failed, Released, Settlement
from prloom.exchange.message import Metadata
from prloom.exchange.worker.job import JobLost, WorkerIdentity
from prloom.exchange.worker.lease import Lease
from prloom.exchange.worker.supervisor import SignalPipe

_PAUSE: Final = 1.0  # seconds; what is waited for wakes us
_T = TypeVar("_T")


class RemoteRuns:
    """Does one run at a time; what goes beyond what the machine allows is refused in the reply."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def run(self, lease: Lease, signals: SignalPipe, identity: WorkerIdentity) -> Settlement | JobLost:
        """Do the run of a lease's message, and return how its claim is to be settled."""
        message, worker = lease.claimed.message, SupervisingWorker(lease, signals, identity)
        run = str(message.metadata.get(run_message.RUN) or message.id)
        try:
            asked = run_message.read_message(message.body)
        except AgentError as error:  # one with another version of prloom may understand it
            return _failed(remote_run.failed(run, f"{platform.node()} cannot read its message: {error}"), retry=True)
        limits = self._machine.limits_for(run, asked)
        if isinstance(limits, RunRefused):
            return _refused(run, limits, lease)
        if asked.session is not None:
            return _failed(remote_run.no_session())
        folder = str(message.metadata.get(run_message.FOLDER) or "")
        with agent_slots.slot(self._machine, asked.agent, worker) as is_free:
            if not is_free:
                return _released(worker)
            return self._begun(run, asked, limits, worker, folder)

    def _begun(
        self, run: str, asked: RunMessage, limits: RunLimits, worker: SupervisingWorker, folder: str
    ) -> Settlement | JobLost:
        """Make the worktree of a run that is for this machine, have its agent work there, and remove it."""
        try:
            prepared = _while_renewing(
                worker,
                lambda: remote_run.prepare(self._machine, run, asked, limits, dispatchers_folder=folder),
            )
            return self._supervised(prepared, worker)
        except PrloomError as error:  # this machine's own trouble: another one may do better
            return _failed(remote_run.failed(run, str(error)), retry=True)
        finally:
            _while_renewing(worker, lambda: remote_run.clean_up(self._machine, run))

    def _supervised(self, run: PreparedRun, worker: SupervisingWorker) -> Settlement | JobLost:
        """Start the agent of a prepared run, watch it to its end, and return what that comes to."""
        if worker.signals.stops or worker.lease.lost(time.monotonic()):
            return _released(worker)
        ended = remote_run.supervise(self._machine, run, worker)
        if worker.signals.stops >= _AT_ONCE:
            return _released(worker)
        reply = _while_renewing(worker, lambda: remote_run.conclude(self._machine, run, ended))
        lost = worker.lease.lost(time.monotonic())
        if lost and reply.result.status == "interrupted":
            return JobLost(lost)
        if lost:
            return JobLost(lost, late=_settlement(reply))
        return _settlement(reply)


def _refused(run: str, refused: RunRefused, lease: Lease) -> Released | Failed:
    """Return that a run is not done here: it is left to other machines, where those may do it, and at last fails."""
    said = remote_run.refused(run, f"refused by {platform.node()}: {refused.reason}")
    wait = run_policy.wait_for_another(lease.claimed.claim.claimed_at - lease.claimed.message.created_at)
    if refused.elsewhere and wait is not None:
        return Released(reason=said.result.error or refused.reason, delay=wait)
    return _failed(said, retry=refused.elsewhere)


def _released(worker: SupervisingWorker) -> Released | JobLost:
    """Return that a worker gives back a run that it does not finish, or has lost it."""
    lost = worker.lease.lost(time.monotonic())
    if lost:
        return JobLost(lost)
    return Released(reason="the worker was stopped")


_AT_ONCE: Final = 2
"""The number of requests to stop at which a worker no longer finishes its run."""


def _settlement(reply: RunReply) -> Completed | Failed:
    if reply.result.status == "ok":
        return Completed(body=run_message.encode(reply), metadata=_metadata())
    return _failed(reply)


def _failed(reply: RunReply, *, retry: bool = False) -> Failed:
    error = reply.result.error or reply.result.trouble or reply.result.status
    return Failed(error=error, body=run_message.encode(reply), metadata=_metadata(), retry=retry)


def _metadata() -> Metadata:
    return {run_message.MACHINE: platform.node()}


def _while_renewing(worker: SupervisingWorker, work: Callable[[], _T]) -> _T:
    """Return what `work` returns, or raise what it raises; meanwhile the lease is renewed and signals are counted."""
    done: Future[_T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that waits for it
            done.set_exception(error)
        worker.signals.wake()

    threading.Thread(target=run, name="git").start()
    while not done.done():
        worker.lease.renew_if_due(time.monotonic())
        worker.signals.wait(_PAUSE)
    return done.result()
