"""Start agent runs, wait for them, stop them, and find out what became of those that another dispatcher had started.

A run is a folder and, while it lasts, a supervisor process that holds the lock in it. The run goes on without the
dispatcher: it may be killed at any moment, and the next one calls `inspect`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from prloom import flock, processes
from prloom.agents import environment, parsing, registry, run_folder, run_spec, session_usage
from prloom.agents.agent import Agent, Ending, RunRequest, RunResult, Status
from prloom.agents.run_folder import RunFinished, RunInProgress, RunInterrupted, RunLost
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.errors import AgentError

log = logging.getLogger(__name__)

_POLL: Final = 0.1
_BREATH: Final = 0.002  # so that a lock which another process has does not make us spin
_PATIENCE: Final = 5.0
_LOCK_FD: Final = 3
_STDERR_END: Final = 4096
_OUTPUT_MOST: Final = 1 << 28
_BLOCKED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class AgentRun:
    """A run. `child` is the supervisor's process id as long as it is a child of ours that is not collected yet.

    `found` is set for a run that an earlier dispatcher had started, `stopping` once `stop` was called.
    """

    folder: Path
    child: int | None = None
    found: bool = False
    stopping: bool = field(default=False, init=False)

    @property
    def id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.folder.name


def find(folder: Path) -> AgentRun:
    """Return the run of a folder that an earlier dispatcher made; whatever became of it, `wait` says it."""
    return AgentRun(folder, found=True)


@dataclass(frozen=True)
class Prepared:
    """A run whose folder is made and whose agent is not started yet."""

    folder: Path
    env: Mapping[str, str]

    def start(self) -> AgentRun:
        """Start the agent and return at once. Raise AgentError when that cannot be done."""
        try:
            return AgentRun(self.folder, child=_spawn(self.folder, self.env))
        except OSError as error:
            raise _not_started(self.folder, error) from error


def prepare(
    folder: Path, agent: Agent, request: RunRequest, *, environ: Mapping[str, str], limits: RunLimits
) -> Prepared:
    """Make the folder of a run, whose name is the run's id, with all that the run needs.

    `environ` is the dispatcher's whole environment; the agent gets the allowed part. Raise AgentError when the program
    is not there, when the agent cannot do what is asked, or when the folder cannot be made.
    """
    # Programs know a folder by its real path, and trust or distrust it by that.
    request = msgspec.structs.replace(request, cwd=request.cwd.resolve(), root=request.root.resolve(), run=folder.name)
    if request.session is not None and not parsing.is_session_id(request.session):
        raise AgentError(f"{request.session!r} cannot be the id of a session; start a new one")
    env = environment.allowed(environ, registry.variables(agent))
    if request.rights == "work":
        env = environment.worker(env, request.remotes, request.root)
    invocation = agent.invocation(
        msgspec.structs.replace(
            request, environ=env, settings=environment.read_settings_files(agent.settings_files(env))
        )
    )
    env |= dict(invocation.env)
    program = registry.locate(invocation.argv[0], env)
    if program is None:
        raise AgentError(_missing(agent, invocation.argv[0], request.stage))
    if invocation.outside:
        cwd = environment.outside(env)
    else:
        cwd = request.cwd
    argv = (program, *invocation.argv[1:])
    spec = RunSpec(
        argv=argv,
        cwd=str(cwd),
        environment=tuple(sorted(env)),
        limits=limits,
        agent=agent.name,
        stage=request.stage,
        plan=request.plan,
        todo=request.todo,
        attempt=request.attempt,
        model=request.model,
        started_at=run_spec.started_at(folder.name),
        machine=platform.node() or None,
        session=request.session,
    )
    run_folder.create(folder)
    try:
        run_folder.write_new(folder, run_folder.PROMPT, request.prompt.encode("utf-8", "replace"))
        run_folder.write_new(folder, run_folder.INVOCATION, run_folder.encode(spec))
    except OSError as error:
        raise _not_started(folder, error) from error
    return Prepared(folder, env | {environment.RUN_VARIABLE: folder.name})


def start(
    folder: Path, agent: Agent, request: RunRequest, *, environ: Mapping[str, str], limits: RunLimits
) -> AgentRun:
    """Prepare a run and start it. Raise AgentError."""
    return prepare(folder, agent, request, environ=environ, limits=limits).start()


def _not_started(folder: Path, error: OSError) -> AgentError:
    return AgentError(
        f"run {folder.name} could not be started in {folder}: {error.strerror}; check the disk and the permissions"
    )


def _missing(agent: Agent, program: str, stage: str) -> str:
    if agent.program is None:
        return f"the command {program!r} of [agents.command] is not an executable program; correct argv in prloom.toml"
    return (
        f"{program} is not on PATH, but stage {stage} uses the agent {agent.name};"
        " install it, or choose another agent under [stages] in prloom.toml"
    )


def _spawn(folder: Path, env: Mapping[str, str]) -> int:
    """Start the supervisor, which inherits the run's lock: there is no moment in which it runs and does not hold it."""
    lock = run_folder.open_new(folder, run_folder.LOCK)
    try:
        flock.wait_and_lock(lock)  # at most the moment that an `inspect` takes
        log = run_folder.open_new(folder, run_folder.SUPERVISOR_LOG)
        try:
            actions = [
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                (os.POSIX_SPAWN_DUP2, lock, _LOCK_FD),
            ]
            # -P: the worktree must not be a place to import from.
            argv = [sys.executable, "-P", "-m", "prloom.agents.supervisor", str(folder), str(_LOCK_FD)]
            # A session of its own from the start: a signal to the dispatcher's group must not end the run with it.
            return os.posix_spawn(sys.executable, argv, env, file_actions=actions, setsid=True, setsigmask=_BLOCKED)
        finally:
            os.close(log)
    finally:
        os.close(lock)


async def wait(run: AgentRun) -> RunFinished | RunInterrupted | RunLost:
    """Wait until the run is over. Cancelling the wait leaves the run alone; waiting again is allowed."""
    while isinstance(now := run_folder.inspect(run.folder), RunInProgress):
        await _wait_for_end(run, now)
    await asyncio.to_thread(_end, run, finished=isinstance(now, RunFinished))
    return now


async def _wait_for_end(run: AgentRun, running: RunInProgress) -> None:
    """Wait until the supervisor has probably ended; a moment is enough where the system cannot tell us."""
    pid = run.child or (running.supervisor.pid if running.supervisor else None)
    opened = None
    if pid:
        opened = _pidfd(pid)
    if opened is None:
        await asyncio.sleep(_POLL)
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(opened, ended.set)
    try:
        async with asyncio.timeout(_POLL * 10):  # the process may not be ours at all; the lock is the truth
            await ended.wait()
            await asyncio.sleep(_BREATH)
    except TimeoutError:
        return
    finally:
        loop.remove_reader(opened)
        os.close(opened)


def _pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _end(run: AgentRun, *, finished: bool) -> None:
    """Collect our own dead child, once; a found run's supervisor is not our child. Call it in a thread.

    The folder is not proof that the supervisor is dead: an agent may have removed it, or what is in it.
    """
    if not finished:
        processes.clean_up(environment.RUN_VARIABLE, run.id)
    child, run.child = run.child, None
    given_up = time.monotonic() + _PATIENCE
    while child is not None and not _collected(child):
        if time.monotonic() > given_up:
            processes.clean_up(environment.RUN_VARIABLE, run.id)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_BREATH)


def _collected(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except ChildProcessError:
        return True


def stop(run: AgentRun) -> None:
    """Ask the run to end, with all that it started; `wait` then returns. Does nothing to a run that is over."""
    run.stopping = True
    pid = run.child  # not collected yet, so that the id cannot be another's
    if pid is None:
        now = run_folder.inspect(run.folder)
        if not isinstance(now, RunInProgress) or now.supervisor is None or not processes.alive(now.supervisor):
            return
        pid = now.supervisor.pid
    with suppress(ProcessLookupError, PermissionError):  # it has just ended, or an agent wrote another's id
        os.kill(pid, signal.SIGTERM)


def conclude(run: AgentRun, agent: Agent, end: RunFinished | RunInterrupted | RunLost) -> RunResult:
    """Return what the run came to, and write it down as `result.json`.

    Reads the whole output, so call it in a thread. A run cut short counts as failed when it was lost under our eyes,
    and as interrupted when it was being stopped or went down together with an earlier dispatcher. A run whose folder is
    lost has failed in any case: something removed it.
    """
    match end:
        case RunFinished(exit=ended):
            result = agent.read(_output(run.folder), _ending(run.folder, ended))
            if agent.counts_sessions:
                result = session_usage.of_run(run.folder, result)
        case RunInterrupted():
            status: Status = "failed"
            if run.found or run.stopping:
                status = "interrupted"
            result = RunResult(
                status=status,
                trouble="lost",
                error="the run's supervisor was killed, so the result of the run is unknown",
            )
        case RunLost(reason=reason):
            return RunResult(status="failed", trouble="lost", error=f"the run's folder {run.folder} {reason}")
    try:
        run_folder.write_result(run.folder, result)
    except OSError as error:  # it is for people only: the decision log says what the run came to
        log.warning("run %s has ended, but its result cannot be saved in %s (%s)", run.id, run.folder, error.strerror)
    return result


def _output(folder: Path) -> str:
    return (run_folder.read(folder, run_folder.OUTPUT, _OUTPUT_MOST) or b"").decode("utf-8", "replace")


def _ending(folder: Path, ended: run_folder.ProcessExit) -> Ending:
    stderr = (run_folder.read_end(folder, run_folder.STDERR, _STDERR_END) or b"").decode("utf-8", "replace")
    return Ending(
        code=ended.code,
        ended_by=ended.ended_by,
        at=ended.ended_at.astimezone(),  # local time: some programs name a reset by the clock on the wall
        stderr=f"{stderr}\n{ended.error or ''}",
        refusal=ended.refusal,
    )
