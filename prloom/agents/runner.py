"""Prepare agent runs, build what starts their programs, and say what they came to: from a folder to a result.

Workers of the exchange do the runs (`run_job`), which go on without the dispatcher: it may be killed at any moment.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from prloom import programs
from prloom.agents import (
    environment,
    mcp_server,
    parsing,
    registry,
    run_ancestry,
    run_folder,
    run_message,
    run_spec,
    run_status,
    sandbox,
    session_usage,
)
from prloom.agents.agent import Agent, ProgramEnding, RunRequest, RunResult
from prloom.agents.mcp_server import Access
from prloom.agents.run_message import RunMessage
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.agents.run_status import RunFinished, RunInProgress, RunInterrupted, RunLost, RunStatus
from prloom.agents.sandbox import Sandbox
from prloom.errors import AgentError, AgentMissingError

log = logging.getLogger(__name__)

_STDERR_END: Final = 4096
_OUTPUT_MOST: Final = 1 << 28


@dataclass(frozen=True)
class Launch:
    """How to start the program of a run; the environment may hold keys, so it never reaches the disk."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


def prepare(
    folder: Path,
    agent: Agent,
    request: RunRequest,
    *,
    environ: Mapping[str, str],
    limits: RunLimits,
    names: Sequence[str] = (),
    repository: str = "",
    commit: str | None = None,
    access: Access | None = None,
) -> Path:
    """Make the folder of a run, whose name is the run's id, with all that the run needs, and return it.

    `environ` is the dispatcher's whole environment, of which the agent will get the allowed part and what has these
    names. `repository` and `commit` are for workers on other machines. `access` is for the MCP server of a request that
    has one: its token goes into a file that only this user can read. Raise AgentError when the program is not there,
    when the agent cannot do what is asked, or when the folder cannot be made.
    """
    # Programs know a folder by its real path, and trust or distrust it by that.
    request = msgspec.structs.replace(request, cwd=request.cwd.resolve(), root=request.root.resolve(), run=folder.name)
    started = build_launch(agent, request, environ=environ, names=names)
    message = _message(agent, request, limits, repository=repository, commit=commit)
    spec = _spec(agent, request, started, limits=limits, names=names)
    files = {run_folder.PROMPT: message.prompt.encode(), run_folder.INVOCATION: run_folder.encode(spec)}
    if request.sandbox is not None and request.answer_path is not None:
        files[run_folder.ANSWER] = b""  # a sandbox shows it as a file of its own, which has to be there
    if access is not None and request.server is not None:
        settings = agent.server_settings(request.server, request.inherit)
        files[mcp_server.CONFIG] = mcp_server.config(request.server, access, settings)
    files[run_folder.MESSAGE] = run_message.encode(message).encode()
    run_folder.create(folder, files)
    return folder


def build_launch(agent: Agent, request: RunRequest, *, environ: Mapping[str, str], names: Sequence[str] = ()) -> Launch:
    """Return how to start an agent for a request; raises AgentError where that is not possible.

    `environ` is the operator's whole environment; the agent gets the allowed part of it, with what has these names.
    """
    if request.session is not None and not parsing.is_session_id(request.session):
        raise AgentError(f"{request.session!r} cannot be the id of a session; start a new one")
    env = registry.allowed_environment(agent, environ, names)
    if request.rights == "work":
        env = environment.worker(env)
    settings = environment.read_settings_files(agent.settings_files(env))
    invocation = agent.invocation(msgspec.structs.replace(request, environ=env, settings=settings))
    env |= dict(invocation.env) | {run_ancestry.RUN_VARIABLE: request.run}
    program = programs.locate(invocation.argv[0], env)
    if program is None:
        raise AgentMissingError(_missing(agent, invocation.argv[0], request.stage))
    cwd = request.cwd
    if invocation.outside:
        cwd = environment.outside(env)
    launch = Launch(argv=(program, *invocation.argv[1:]), cwd=cwd, env=env)
    if request.sandbox is None:
        return launch
    named = launch.argv[:1]
    if agent.program is None:  # the operator's own command line
        named = (*named, *request.argv)
    return _sandboxed(agent, request, request.sandbox, launch, named=named)


def command_launch(
    agent: Agent, request: RunRequest, *, environ: Mapping[str, str], names: Sequence[str] = ()
) -> Launch:
    """Return how to start the command `argv` of a request where a run of the agent would be, and as it would be run."""
    env = environment.worker(registry.allowed_environment(agent, environ, names))
    program = programs.locate(request.argv[0], env)
    if program is None:
        raise AgentError(f"{request.argv[0]} is not on PATH")
    launch = Launch(argv=(program, *request.argv[1:]), cwd=request.cwd, env=env)
    if request.sandbox is None:
        return launch
    return _sandboxed(agent, request, request.sandbox, launch, named=launch.argv[:1])


def _sandboxed(agent: Agent, request: RunRequest, shown: Sandbox, launch: Launch, *, named: tuple[str, ...]) -> Launch:
    """Return how to start a program in its sandbox, with what it needs beside what the request shows.

    The files among the words `named` are shown, too.
    """
    bwrap = programs.locate(sandbox.PROGRAM, launch.env)
    if bwrap is None:
        raise AgentError(f"{sandbox.PROGRAM} is not on PATH any more, and the run was to have a sandbox")
    home = str(sandbox.home_folder(launch.env))
    read, write = sandbox.home_files(agent.home_files, launch.env)
    read += sandbox.program_files(launch.argv[0], launch.env.get("PATH", ""), home)
    read += sandbox.named_files(named)
    if request.server is not None:
        read += sandbox.own_files()
    if launch.cwd != request.cwd:
        read += (str(launch.cwd),)
    seen = msgspec.structs.replace(shown, read=(*shown.read, *read), write=(*shown.write, *write))
    return Launch(argv=sandbox.argv(seen, bwrap, launch.argv, cwd=launch.cwd), cwd=launch.cwd, env=launch.env)


def _missing(agent: Agent, program: str, stage: str) -> str:
    if agent.program is None:
        return f"the command {program!r} of [agents.command] is not an executable program; {registry.to_correct(agent)}"
    return f"{program} is not on PATH, but stage {stage} uses the agent {agent.name}; {registry.to_correct(agent)}"


def _message(
    agent: Agent, request: RunRequest, limits: RunLimits, *, repository: str, commit: str | None
) -> RunMessage:
    """Return what a worker on another machine needs to do the run."""
    return RunMessage(
        repository=repository,
        plan=request.plan,
        commit=commit,
        stage=request.stage,
        agent=agent.name,
        model=request.model,
        prompt=request.prompt.encode("utf-8", "replace").decode(),
        limits=limits,
        rights=request.rights,
        todo=request.todo,
        session=request.session,
    )


def _spec(agent: Agent, request: RunRequest, started: Launch, *, limits: RunLimits, names: Sequence[str]) -> RunSpec:
    """Return what a worker of this machine needs to do the run, and what says later what the run was."""
    call_seconds = None
    if request.server is not None:
        call_seconds = request.server.call_limit.total_seconds()
    return RunSpec(
        argv=started.argv,
        cwd=str(request.cwd),
        environment=tuple(sorted(started.env)),
        limits=limits,
        root=str(request.root),
        program=request.argv,
        names=tuple(names),
        agent=agent.name,
        stage=request.stage,
        plan=request.plan,
        todo=request.todo,
        attempt=request.attempt,
        plugin=request.plugin,
        model=request.model,
        started_at=run_spec.started_at(request.run),
        machine=platform.node() or None,
        session=request.session,
        call_seconds=call_seconds,
        inherit=request.inherit,
        sandbox=request.sandbox,
    )


def conclude(folder: Path, agent: Agent, end: RunStatus, *, lost: bool = False) -> RunResult:
    """Return what the run came to, and write it down as `result.json`.

    Reads the whole output, so call it in a thread. A run that was cut short counts as interrupted, and as failed when
    only its worker was `lost`: then the run may be the reason. A run whose folder is lost has failed in any case:
    something removed it.
    """
    match end:
        case RunFinished(exit=ended):
            output = _output(folder)
            result = agent.read(output, _ending(folder, ended))
            result = session_usage.of_run(folder, result, least=agent.least_used(output))
        case RunInterrupted() | RunInProgress():
            result = _interrupted(folder, lost=lost)
        case RunLost(reason=reason):
            return RunResult(status="failed", trouble="lost", error=f"the run's folder {folder} {reason}")
    try:
        run_folder.write_result(folder, result)
    except OSError as error:  # it is for people only: the decision log says what the run came to
        log.warning("run %s has ended, but its result cannot be saved in %s (%s)", folder.name, folder, error.strerror)
    return result


def _interrupted(folder: Path, *, lost: bool) -> RunResult:
    if not run_status.was_begun(folder):
        return RunResult(status="interrupted", trouble="stopped", error="the run was ended before it began")
    if lost:
        return RunResult(
            status="failed", trouble="lost", error="the run's worker was killed, so the result of the run is unknown"
        )
    return RunResult(
        status="interrupted", trouble="lost", error="the run's worker was killed, so the result of the run is unknown"
    )


def _output(folder: Path) -> str:
    return (run_folder.read(folder, run_folder.OUTPUT, _OUTPUT_MOST) or b"").decode("utf-8", "replace")


def _ending(folder: Path, ended: run_folder.ProcessExit) -> ProgramEnding:
    stderr = (run_folder.read_end(folder, run_folder.STDERR, _STDERR_END) or b"").decode("utf-8", "replace")
    return ProgramEnding(
        code=ended.code,
        ended_by=ended.ended_by,
        at=ended.ended_at.astimezone(),  # local time: some programs name a reset by the clock on the wall
        stderr=f"{stderr}\n{ended.error or ''}",
        refusal=ended.refusal,
    )
