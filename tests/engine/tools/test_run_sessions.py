"""Which processes may use the token of a run, and what plugins see of runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import executable
import pytest
from tool_bench import ToolBench

from prloom import processes
from prloom.agents import registry, run_ancestry, run_folder
from prloom.agents.agent import RunRequest
from prloom.agents.run_folder import ProcessWatch
from prloom.agents.run_spec import RunSpec
from prloom.api import PluginContext
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.tools import run_authority
from prloom.engine.tools.run_sessions import RunSession
from prloom.model.tool import Session, SessionResult

WAIT = """
import subprocess, sys, time
inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"], env={env})
print(inner.pid, flush=True)
time.sleep(99)
"""


@contextmanager
def programs(run: str, inner: dict[str, str]) -> Iterator[int]:
    """Start the program of a run, which starts another with this environment; yield the id of that one."""
    code = WAIT.format(env=inner)
    with subprocess.Popen(
        [sys.executable, "-c", code], env={"PRLOOM_RUN": run}, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        try:
            yield pid
        finally:
            processes.kill(processes.below(program.pid))
            program.kill()


def session(folder: Path, supervisor: int) -> RunSession:
    me = processes.identity(supervisor)
    assert me is not None
    watch = ProcessWatch(run="run-1", supervisor=me, agent=me)
    (folder / run_folder.SUPERVISOR).write_bytes(run_folder.encode(watch))
    return RunSession("run-1", "pr-7", "worker", "claude", folder, b"", lambda: None)


@pytest.mark.parametrize(
    ("run", "inner", "belongs"),
    [
        ("run-1", {}, True),  # codex hides the variable from the servers that it starts
        ("run-1", {"PRLOOM_RUN": "run-1"}, True),
        ("run-2", {}, False),
        ("run-2", {"PRLOOM_RUN": "run-1"}, False),  # it has come upon the token, and says that it is the other
    ],
)
def test_only_what_a_runs_program_has_started_belongs_to_the_run(
    tmp_path: Path,
    run: str,
    inner: dict[str, str],
    belongs: bool,  # noqa: FBT001 - parametrised
):
    with programs(run, inner) as pid:
        found = run_authority.is_of_run(session(tmp_path, os.getpid()), PeerProcess(os.getuid(), pid))

    assert found is belongs


def test_what_another_supervisor_has_started_does_not_belong_to_the_run(tmp_path: Path):
    with programs("run-1", {}) as other, programs("run-1", {}) as pid:
        assert not run_authority.is_of_run(session(tmp_path, other), PeerProcess(os.getuid(), pid))


def test_a_process_below_a_run_is_known_as_its_also_with_an_empty_environment():
    with programs("run-1", {}) as pid:
        assert run_ancestry.run_of(pid) == "run run-1"

    assert run_ancestry.run_of(os.getpid()) is None


async def test_plugins_see_a_run_begin_and_end(bench: ToolBench):
    shown: list[tuple[str, Session]] = []

    def watching(ctx: PluginContext) -> None:
        ctx.register_hook("sessionStart", lambda run, ctx: shown.append((ctx.hook_point, run)))
        ctx.register_hook("sessionEnd", lambda run, ctx: shown.append((ctx.hook_point, run)))

    bench.stage.plugin("watch", watching)
    bench.stage.plugin("bad", lambda ctx: ctx.register_hook("sessionStart", lambda run, ctx: 1 / 0))

    async with bench.open() as parts, bench.running(parts, bench.prepare(parts)):
        pass

    begun = Session(run_id="run-1", stage="worker", agent="claude")
    ended = Session(run_id="run-1", stage="worker", agent="claude", result=SessionResult(status="ok", message="done"))
    assert shown == [("sessionStart", begun), ("sessionEnd", ended)]


async def test_the_tools_of_a_run_leave_its_limit_of_silence_as_it_is_configured(bench: ToolBench, tmp_path: Path):
    executable.write(tmp_path / "claude", "#!/bin/sh\n")
    pool = AgentPool(root=bench.stage.root, environ={"PATH": str(tmp_path)}, parallel=1, workers=1)
    request = RunRequest(prompt="", stage="worker", cwd=bench.stage.root, root=bench.stage.root, rights="read")
    async with bench.open() as parts:
        pool.tools = parts.services
        folders = bench.registry.ready[0].folders
        folder = pool.prepare(folders, bench.stage.config, registry.get("claude"), "run-1", request)

    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    assert spec is not None
    assert spec.call_seconds is not None
    assert spec.limits.silence_seconds == bench.stage.config.agents.silence.total_seconds() < spec.call_seconds
