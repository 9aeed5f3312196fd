"""Run small Python programs as agents, and leave nothing of them behind."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import started_runs
from started_runs import StartedRun

from prloom.agents import run_folder, run_spec
from prloom.agents.agent import ProgramEnding, RunRequest
from prloom.agents.programs import command
from prloom.agents.run_spec import RunLimits

DATA = Path(__file__).parents[1] / "data" / "agents"


@pytest.fixture
def samples() -> Path:
    """The folder of the recorded streams."""
    return DATA / "samples"


@pytest.fixture
def workers() -> Path:
    """The folder of the recorded streams of workers, and of what they printed to stderr."""
    return DATA / "worker"


@pytest.fixture
def stderr() -> Path:
    """The folder of what programs were recorded to print to stderr."""
    return DATA / "stderr"


@pytest.fixture
def ending() -> Callable[..., ProgramEnding]:
    """Build the end of a process; by default it ended by itself and well."""

    def build(code: int = 0, ended_by: str = "exit", stderr: str = "", at: datetime | None = None) -> ProgramEnding:
        when = at or datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
        return ProgramEnding(code=code, ended_by=ended_by, at=when, stderr=stderr)  # type: ignore[arg-type]

    return build


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., RunRequest]:
    """Build a request; with a text, the text is a Python program that plays the agent."""

    def build(program: str = "", prompt: str = "What is wrong?", **more: object) -> RunRequest:
        worktree = tmp_path / "worktree"
        worktree.mkdir(exist_ok=True)
        argv = (sys.executable, "-c", textwrap.dedent(program)) if program else ()
        fields = {"rights": "work", "stage": "triage", "cwd": worktree, "root": tmp_path, "argv": argv} | more
        return RunRequest(prompt=prompt, **fields)  # type: ignore[arg-type]

    return build


@pytest.fixture
async def launch(tmp_path: Path, ask: Callable[..., RunRequest]) -> AsyncIterator[Callable[..., StartedRun]]:
    """Start a Python program as an agent; whatever still runs at the end of the test is stopped."""
    started: list[StartedRun] = []

    def start(program: str | tuple[str, ...], *, prompt: str = "What is wrong?", **limits: float) -> StartedRun:
        folder = tmp_path / run_spec.new_id(datetime.now(tz=UTC), "triage")
        chosen = RunLimits(**({"wall_seconds": 120, "silence_seconds": 120, "grace_seconds": 0.3} | limits))  # type: ignore[arg-type]
        request = ask(program, prompt) if isinstance(program, str) else ask("", prompt, argv=program)
        started.append(started_runs.start(folder, command, request, environ=os.environ, limits=chosen))
        return started[-1]

    yield start
    for run in started:
        await started_runs.end(run)


@pytest.fixture
def up() -> Callable[..., Awaitable[None]]:
    """Wait until a run's agent has said something, and its supervisor has written down who it is; or for more."""

    async def wait(run: StartedRun, more: Callable[[], bool] = lambda: True) -> None:
        async with asyncio.timeout(120):
            # Files of another process: there is no event to wait for.
            while not (  # noqa: ASYNC110
                run_folder.read(run.folder, run_folder.OUTPUT)
                and run_folder.read(run.folder, run_folder.SUPERVISOR)
                and more()
            ):
                await asyncio.sleep(0.01)

    return wait
