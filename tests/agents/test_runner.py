"""Starting, waiting, stopping, and finding out afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import executable
import msgspec
import pytest
import started_runs
from run_pools import StartForked
from started_runs import StartedRun

from prloom import processes
from prloom.agents import environment, run_ancestry, run_folder, run_spec, run_status, runner
from prloom.agents.agent import RunRequest
from prloom.agents.programs import claude, codex, command, gemini
from prloom.agents.run_spec import RunLimits
from prloom.agents.run_status import RunFinished, RunInProgress
from prloom.engine.runs.run_exchange import RunExchange
from prloom.errors import AgentError

Ask = Callable[..., RunRequest]

Launch = Callable[..., StartedRun]
Up = Callable[[StartedRun], Awaitable[None]]


class Gate:
    """A pipe on which an agent waits; it is held open, so that nobody ever waits for the other end."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def open(self) -> None:
        os.write(self.fd, b"go\n")


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A gate that is closed again when the test is over."""
    gate = Gate(tmp_path / "gate")
    yield gate
    os.close(gate.fd)


async def test_a_whole_run_comes_to_its_result(launch: Launch) -> None:
    run = launch("print('The answer is', len(input()))", prompt="abc")

    result = await started_runs.result(run)

    assert (result.status, result.message) == ("ok", "The answer is 3")
    assert run_folder.read_result(run.folder) == result


async def test_a_result_that_its_folder_does_not_take_is_a_result_all_the_same(
    launch: Launch, caplog: pytest.LogCaptureFixture
) -> None:
    run = launch("print('x')")
    end = await started_runs.wait(run)
    (run.folder / run_folder.RESULT).unlink()
    (run.folder / run_folder.RESULT).mkdir()

    result = runner.conclude(run.folder, command, end)

    assert (result.status, result.message) == ("ok", "x")
    assert caplog.messages == [
        f"run {run.id} has ended, but its result cannot be saved in {run.folder} (Is a directory)"
    ]


@pytest.mark.parametrize("replaced", ["removed", "link", "file", "emptied"])
async def test_a_run_whose_folder_disappears_has_failed_and_is_ended(launch: Launch, up: Up, replaced: str) -> None:
    run = launch("import time; print('up', flush=True); time.sleep(600)")
    await up(run)
    elsewhere = run.folder.with_name("elsewhere")
    run.folder.rename(elsewhere)
    if replaced == "link":
        run.folder.symlink_to(elsewhere)
    elif replaced == "file":
        run.folder.write_text("")
    elif replaced == "emptied":
        run.folder.mkdir()

    result = await started_runs.result(run)

    assert (result.status, result.trouble) == ("failed", "lost")
    assert processes.tagged(run_ancestry.RUN_VARIABLE, run.id) == []


async def test_a_run_that_is_waited_for_no_more_is_ended(launch: Launch, up: Up) -> None:
    run = launch("import time; print('up', flush=True); time.sleep(600)")
    await up(run)

    run.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run.task
    await run.exchange.close()

    end = run_status.inspect(run.folder)
    assert isinstance(end, RunFinished)
    assert end.exit.ended_by == "terminated"


async def test_a_run_that_is_found_again_is_not_done_again(launch: Launch) -> None:
    run = launch("open('runs', 'a').write('x'); print('done')")
    first = await started_runs.result(run)

    again = await run.exchange.run(run.folder, found=True)
    await run.exchange.close()

    assert again == first
    assert (run.folder.parent / "worktree" / "runs").read_text() == "x"


async def test_stopping_a_run_that_is_over_does_nothing(launch: Launch) -> None:
    run = launch("print('done')")
    before = await started_runs.wait(run)

    assert not await started_runs.stop(run)

    assert run_status.inspect(run.folder) == before
    await run.exchange.close()


def test_a_program_that_is_not_there_is_named_before_anything_is_made(tmp_path: Path, ask: Ask) -> None:
    with pytest.raises(AgentError) as raised:
        runner.prepare(tmp_path / "run", claude, ask(), environ={"PATH": str(tmp_path)}, limits=RunLimits())

    assert str(raised.value) == (
        "claude is not on PATH, but stage triage uses the agent claude;"
        " install claude, or choose another agent under [stages] in prloom.toml"
    )
    assert not (tmp_path / "run").exists()


def test_a_command_in_the_worktree_is_not_taken_for_the_operators(tmp_path: Path, ask: Ask) -> None:
    request = ask(argv=("./my-agent",))
    executable.write(request.cwd / "my-agent", "#!/bin/sh\n")

    with pytest.raises(
        AgentError, match=r"the command '.*/my-agent' of \[agents.command\] is not an executable program"
    ):
        runner.prepare(tmp_path / "run", command, request, environ=os.environ, limits=RunLimits())


async def test_a_worktree_is_distrusted_by_its_real_path(tmp_path: Path, ask: Ask) -> None:
    program = executable.write(tmp_path / "bin" / "codex", '#!/bin/sh\necho "$@"\n')
    request = ask()
    linked = tmp_path / "linked"
    linked.symlink_to(request.cwd)

    run = started_runs.start(
        tmp_path / "run",
        codex,
        msgspec.structs.replace(request, cwd=linked),
        environ={"PATH": f"{program.parent}:{os.environ['PATH']}"},
        limits=RunLimits(),
    )
    await started_runs.wait(run)

    assert f'projects={{"{request.cwd.resolve()}"=' in (run.folder / "output.jsonl").read_text(encoding="utf-8")


async def test_a_program_that_obeys_its_folder_is_started_in_an_empty_one(tmp_path: Path, ask: Ask) -> None:
    program = executable.write(tmp_path / "bin" / "gemini", "#!/bin/sh\npwd -P\n")
    environ = {"PATH": f"{program.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    run = started_runs.start(tmp_path / "run", gemini, ask(rights="read"), environ=environ, limits=RunLimits())
    await started_runs.wait(run)

    started_in = Path((run.folder / "output.jsonl").read_text(encoding="utf-8").strip())
    assert started_in == (tmp_path / "cache" / "prloom" / "empty").resolve()
    assert os.listdir(started_in) == []


def test_the_empty_folder_must_be_empty(tmp_path: Path) -> None:
    planted = tmp_path / "prloom" / "empty" / ".env"
    planted.parent.mkdir(parents=True)
    planted.write_text("GOOGLE_GEMINI_BASE_URL=http://elsewhere\n", encoding="utf-8")

    with pytest.raises(AgentError, match=r"must be empty, because a program that starts there obeys the files in it"):
        environment.outside({"XDG_CACHE_HOME": str(tmp_path)})


# A dispatcher of its own, which has a run done and is killed.
DISPATCHER = """
import asyncio, os, sys
from pathlib import Path
from prloom.agents import runner
from prloom.agents.programs import command
from prloom.agents.agent import RunRequest
from prloom.agents.run_spec import RunLimits
from prloom.engine.runs.pool_process import PoolProcess
from prloom.engine.runs.run_exchange import RunExchange

folder, gate = Path(sys.argv[1]), sys.argv[2]
code = f"print('up', flush=True); open({gate!r}).readline(); open('runs', 'a').write('x'); print('done')"
argv = (sys.executable, "-c", code)
request = RunRequest(prompt="", rights="read", stage="triage", cwd=folder.parent, root=folder.parent, argv=argv)
runner.prepare(folder, command, request, environ=os.environ, limits=RunLimits(wall_seconds=240, silence_seconds=240))

def pool(exchange, workers):
    return PoolProcess(exchange, workers, root=folder.parent, environ=os.environ, output=folder.parent / "pool.log")

asyncio.run(RunExchange(str(folder.parent / "exchange.db"), 1, pool).run(folder))
"""


async def killed_dispatcher(folder: Path, gate: Gate) -> None:
    """Have a run begun by a dispatcher that is killed then."""
    argv = [sys.executable, "-c", textwrap.dedent(DISPATCHER), str(folder), gate.path]
    with subprocess.Popen(argv, start_new_session=True) as dispatcher:  # noqa: ASYNC220 - it waits for nothing
        async with asyncio.timeout(200):
            # Files of another process: there is no event to wait for.
            while not (run_folder.read(folder, run_folder.OUTPUT) and run_folder.read(folder, run_folder.SUPERVISOR)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        os.killpg(dispatcher.pid, signal.SIGKILL)


def next_dispatcher(folder: Path) -> RunExchange:
    return RunExchange(str(folder.parent / "exchange.db"), 1, StartForked(os.environ), check_interval=started_runs.SOON)


async def test_a_run_outlives_its_dispatcher_and_is_found_afterwards(tmp_path: Path, gate: Gate) -> None:
    folder = tmp_path / "run-of-the-dead"
    await killed_dispatcher(folder, gate)

    assert isinstance(run_status.inspect(folder), RunInProgress)
    gate.open()
    exchange = next_dispatcher(folder)
    result = await exchange.run(folder, found=True)
    await exchange.close()

    assert result.message == "up\ndone"
    assert (tmp_path / "runs").read_text() == "x"


async def test_a_run_that_went_down_with_its_dispatcher_is_no_failed_attempt(tmp_path: Path, gate: Gate) -> None:
    folder = tmp_path / "run-of-the-dead"
    await killed_dispatcher(folder, gate)
    watch = run_folder.load(folder, run_folder.SUPERVISOR, run_folder.ProcessWatch)
    assert watch is not None
    os.kill(watch.supervisor.pid, signal.SIGKILL)

    exchange = next_dispatcher(folder)
    result = await exchange.run(folder, found=True)
    await exchange.close()

    assert (result.status, result.trouble) == ("interrupted", "lost")
    assert processes.tagged(run_ancestry.RUN_VARIABLE, folder.name) == []


async def test_a_run_whose_worker_died_under_our_eyes_is_a_failed_attempt(launch: Launch, up: Up) -> None:
    run = launch("import time; print('up', flush=True); time.sleep(600)")
    await up(run)
    watch = run_folder.load(run.folder, run_folder.SUPERVISOR, run_folder.ProcessWatch)
    assert watch is not None
    os.kill(watch.supervisor.pid, signal.SIGKILL)

    result = await started_runs.result(run)

    assert (result.status, result.trouble) == ("failed", "lost")


@pytest.fixture
def codex_like(tmp_path: Path) -> dict[str, str]:
    """The environment of an operator whose codex prints nothing and ends."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    (tmp_path / ".codex").mkdir()
    return {"PATH": f"{program.parent}{os.pathsep}{os.defpath}", "HOME": str(tmp_path)}


async def test_an_agent_sees_the_operators_settings_that_it_asks_for(
    ask: Ask, codex_like: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.mine]\ncommand = "x"\n', encoding="utf-8")

    run = started_runs.start(tmp_path / "run", codex, ask(rights="read"), environ=codex_like, limits=RunLimits())
    await started_runs.wait(run)

    spec = run_folder.load(run.folder, run_folder.INVOCATION, run_spec.RunSpec)
    assert spec is not None
    assert 'mcp_servers={"mine"={enabled=false}}' in spec.argv


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda path: path.mkdir(), "is not an ordinary file"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8 text"),
        (lambda path: path.symlink_to(path), "cannot be read"),
        (lambda path: path.write_bytes(b"#" * (run_folder.SMALL + 1)), "at most 1 MiB"),
    ],
)
def test_settings_that_cannot_be_read_are_no_reason_to_start_without_them(
    spoil: Callable[[Path], object],
    problem: str,
    ask: Ask,
    codex_like: dict[str, str],
    tmp_path: Path,
) -> None:
    spoil(tmp_path / ".codex" / "config.toml")

    with pytest.raises(AgentError, match=problem):
        runner.prepare(tmp_path / "run", codex, ask(rights="read"), environ=codex_like, limits=RunLimits())

    assert not (tmp_path / "run").exists()


@pytest.fixture
def gemini_like(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return the environment of an operator whose gemini prints this text to stderr, and then waits."""

    def build(text: str) -> dict[str, str]:
        program = tmp_path / "bin" / "gemini"
        program.parent.mkdir()
        (tmp_path / "text").write_text(text, encoding="utf-8")
        program.write_text(f"#!/bin/sh\ncat '{tmp_path / 'text'}' >&2\nexec sleep 600\n", encoding="utf-8")
        program.chmod(0o700)
        return {"PATH": f"{program.parent}{os.pathsep}{os.defpath}", "HOME": str(tmp_path)}

    return build


@pytest.mark.parametrize(
    ("said", "error", "named"),
    [
        (
            "gemini-words",
            "the usage limit is reached: usage limit reached, resets at 5:48pm (UTC)",
            True,
        ),
        ("gemini-long", "the model's server refused every request for a while: Too many requests", False),
    ],
)
async def test_a_limit_on_stderr_ends_the_run_at_once_or_where_it_does_not_end(
    said: str,
    *,
    error: str,
    named: bool,
    ask: Ask,
    gemini_like: Callable[[str], dict[str, str]],
    stderr: Path,
    tmp_path: Path,
) -> None:
    environ = gemini_like((stderr / f"{said}.txt").read_text(encoding="utf-8"))
    limits = RunLimits(grace_seconds=0.3, refused_seconds=0.2)

    run = started_runs.start(tmp_path / "run", gemini, ask(), environ=environ, limits=limits)
    result = await started_runs.result(run)
    end = run_status.inspect(run.folder)

    assert isinstance(end, RunFinished)
    assert end.exit.ended_by == "limit"
    assert (result.status, result.trouble, result.error) == ("limited", "usage_limit", error)
    assert (result.retry_at is not None) == named
