"""Do one run on a worker machine: make its clone, start the agent there, inspect the change, and bundle it."""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from prloom.agents import registry, run_folder, run_message, runner, supervision
from prloom.agents.agent import RunRequest, RunResult
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_message import RunMessage, RunReply
from prloom.agents.run_spec import RunLimits
from prloom.agents.run_status import RunFinished
from prloom.agents.supervision import SupervisingWorker, Supervision
from prloom.core.text import secret_scan
from prloom.core.text.secret_scan import SecretMask
from prloom.engine.machine import output_messages
from prloom.engine.machine.machine import Machine
from prloom.engine.machine.output_messages import OutputMessages
from prloom.engine.runs import run_sandbox
from prloom.engine.runs.run_sandbox import RunEnvironment
from prloom.engine.work import change_rules
from prloom.errors import WorkspaceError
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import bundle, run_checkout, run_refs, snapshot
from prloom.workspace.bundle import BundleError
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot

log = logging.getLogger(__name__)

_LOGS: Final = "logs"
_MOST_LOGS: Final = 100
_SUBJECT: Final = "The change of run "
_BESIDE: Final = "worker"
_ROOM_PATIENCE: Final = 300.0
"""Seconds for which a full disk is waited for; then another machine may do the run."""


@dataclass(frozen=True)
class PreparedRun:
    """A run whose clone is made."""

    folder: Path
    message: RunMessage
    request: RunRequest
    limits: RunLimits
    repo: Repository

    @property
    def clone(self) -> Path:
        """The folder in which the agent works."""
        return self.request.cwd


def prepare(
    machine: Machine, run: str, message: RunMessage, limits: RunLimits, *, dispatchers_folder: str
) -> PreparedRun:
    """Fetch the commit and make the clone and the run's folder in it; raises WorkspaceError or AgentError.

    `dispatchers_folder` is the run's folder on the dispatcher's machine, where the prompt says that the answer goes.
    """
    assert message.commit is not None  # noqa: S101 - the policy refuses a run without
    repo = machine.open_repository()
    with run_checkout.locked(machine.folder):
        run_checkout.fetch(repo, message.commit, plan_ref=_kept_at(message, run))
        place = run_checkout.create(repo, run, message.commit)
    folder = place.joinpath(*paths.LOCAL, paths.RUNS, run)
    SafeDir.make(place, *paths.LOCAL, paths.RUNS).close()  # the commit has nothing there: that was looked at
    prompt = message.prompt
    if dispatchers_folder:
        prompt = prompt.replace(dispatchers_folder, str(folder))
    request = RunRequest(
        prompt=prompt,
        stage=message.stage,
        cwd=place,
        root=repo.root,
        model=message.model,
        rights=message.rights,
        plan=message.plan,
        todo=message.todo,
        answer_path=folder / run_folder.ANSWER,
        argv=_argv(machine),
        inherit=machine.config.agents.inherited(message.agent),
        run=run,
    )
    agent = registry.get(message.agent)
    around = RunEnvironment(Repository(machine.root, repo.git_dir), place.parent, machine.environ)
    request = replace(request, sandbox=run_sandbox.of_run(machine.config.sandbox, agent, request, around))
    runner.prepare(folder, agent, request, environ=machine.environ, limits=limits, names=machine.names)
    return PreparedRun(folder, message, request, limits, repo)


def supervise(machine: Machine, run: PreparedRun, worker: SupervisingWorker) -> ProcessExit:
    """Start the agent of a prepared run, and watch it until all of it is gone; raises AgentError.

    Meanwhile, what it prints is published for the dispatcher.
    """
    begun, agent = datetime.now(tz=UTC), registry.get(run.message.agent)
    started = runner.build_launch(agent, run.request, environ=machine.environ, names=machine.names)
    lease = worker.lease
    messages = OutputMessages(lease.store, lease.claimed, run.folder, _mask(machine))
    try:
        supervised = Supervision(run.folder, started, agent, run.limits, worker, room_patience=_ROOM_PATIENCE)
        with output_messages.published(messages):
            return supervised.run()
    except OSError as error:
        return supervision.not_started(f"{started.argv[0]}: {error.strerror} ({error.filename})", begun)


def conclude(machine: Machine, run: PreparedRun, ended: ProcessExit) -> RunReply:
    """Return the reply to a run that has ended: its result, and what it changed if it may change anything.

    A session of the agent's stays on this machine, and is not named: the next attempt may be another machine's.
    """
    agent, folder = registry.get(run.message.agent), run.folder
    with suppress(OSError):  # for people only
        run_folder.replace(folder, run_folder.EXIT, run_folder.encode(ended))
    result = runner.conclude(folder, agent, RunFinished(ended))
    result = replace(result, session_id=None, message=_with_answer(result.message, run_folder.read_answer(folder)))
    reply = RunReply(result=result, output=_output(machine, folder))
    if run.message.rights != "work" or result.status == "interrupted":
        return reply
    with run_checkout.locked(machine.folder):
        return _with_change(machine, run, reply)


def clean_up(machine: Machine, run: str) -> None:
    """Keep the run's files for people to read, and remove its clone; logs what fails."""
    try:
        repo = machine.open_repository()
        with run_checkout.locked(machine.folder):
            _keep_logs(machine, run_checkout.clone_of(repo, run), run)
            run_checkout.remove(repo, run)
    except WorkspaceError as error:
        log.warning("run %s: %s", run, error)


def failed(run: str, error: str) -> RunReply:
    """Return the reply to a run that could not be started."""
    return RunReply(result=RunResult(status="failed", trouble="start", error=f"run {run}: {error}"))


def refused(run: str, reason: str) -> RunReply:
    """Return the reply to a run that this machine does not do; the reason is one line."""
    return RunReply(result=RunResult(status="failed", trouble="refused", error=f"run {run}: {reason}"))


def no_session() -> RunReply:
    """Return the reply to a run that was to resume a session: those of another machine are not here."""
    error = "the session was made on another machine, where alone it can be resumed"
    return RunReply(result=RunResult(status="failed", trouble="session", error=error))


def _kept_at(message: RunMessage, run: str) -> str | None:
    """Return the ref of the remote under which the dispatcher has it keep the commit, if no branch leads there."""
    if message.plan is None:
        return None
    if message.stage == _BESIDE:
        return run_refs.ref(message.plan)
    return run_refs.ref(message.plan, run)


def _argv(machine: Machine) -> tuple[str, ...]:
    """Return the command line of the agent "command"; a relative path is that of the checkout of the operator."""
    argv = machine.config.agents.command.argv
    if argv and "/" in argv[0]:
        return (os.fspath(machine.root / argv[0]), *argv[1:])
    return argv


def _with_answer(message: str, answer: str | None) -> str:
    """Return the final message with what the agent wrote to its answer file behind it, where it is found first."""
    if answer is None:
        return message
    return f"{message}\n\n{answer}\n"


def _output(machine: Machine, folder: Path) -> str:
    """Return what the agent has printed, without this machine's secrets."""
    printed = run_folder.read_from(folder, run_folder.OUTPUT, 0, run_message.LONGEST_OUTPUT + 1)
    return run_message.packed_output(output_messages.masked(printed, _mask(machine)))


def _mask(machine: Machine) -> SecretMask:
    return SecretMask(secret_scan.environment_secrets(machine.environ))


def _with_change(machine: Machine, run: PreparedRun, reply: RunReply) -> RunReply:
    base = run.message.commit
    assert base is not None  # noqa: S101 - see `prepare`
    work = machine.config.work
    taken = snapshot.take(run.repo, run.clone, base, junk=work.junk, max_file=work.max_file)
    secrets = secret_scan.environment_secrets(machine.environ)
    broken = change_rules.violations(run.repo, taken, work, secrets=secrets)
    if broken:
        return replace(reply, violations=broken)
    return _bundled(run, reply, taken)


def _bundled(run: PreparedRun, reply: RunReply, taken: WorktreeSnapshot) -> RunReply:
    message = f"{_SUBJECT}{run.folder.name}"
    commit = run_refs.commit_tree(run.repo, base=taken.base, tree=taken.tree, message=message)
    try:
        content = bundle.create(run.repo, run=run.folder.name, parent=taken.base, commit=commit)
    except BundleError as error:
        return replace(reply, violations=(str(error),))
    return replace(reply, bundle=run_message.packed(content))


def _keep_logs(machine: Machine, clone: Path, run: str) -> None:
    """Move the run's folder out of its clone, and remove the oldest of those that were kept."""
    logs = machine.folder / _LOGS
    folder = clone.joinpath(*paths.LOCAL, paths.RUNS, run)
    with suppress(OSError):
        if run_folder.problem(folder) is None:
            logs.mkdir(mode=0o700, exist_ok=True)
            shutil.rmtree(logs / run, ignore_errors=True)
            folder.rename(logs / run)
        for old in sorted(logs.iterdir())[:-_MOST_LOGS]:
            shutil.rmtree(old, ignore_errors=True)
