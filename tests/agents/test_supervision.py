"""One run under its worker: limits, output, and that nothing stays behind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import executable
import pytest
import started_runs
from started_runs import StartedRun

from prloom import processes
from prloom.agents import run_folder, tool_wait
from prloom.agents.disk_room import CappedFile
from prloom.agents.run_ancestry import RUN_VARIABLE
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_status import RunFinished, RunInterrupted

Launch = Callable[..., StartedRun]
Up = Callable[[StartedRun], Awaitable[None]]

# A program that starts another one in a session of its own, orphans it, and says its id.
ORPHAN = """
import os, signal, sys, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(write, str(os.getpid()).encode())
        os.close(write)
        time.sleep(600)
    os._exit(0)
os.close(write)
os.wait()
print(os.read(read, 100).decode(), flush=True)
"""


async def ended(run: StartedRun) -> ProcessExit:
    fate = await started_runs.wait(run)
    assert isinstance(fate, RunFinished)
    return fate.exit


async def ended_after_it_spoke(begin: Callable[[float], StartedRun]) -> tuple[StartedRun, ProcessExit]:
    """Return a run that a limit of so many seconds has ended, but not before the program had said something.

    On a busy machine, a program may need longer to begin than a limit that is to be hit soon.
    """
    for seconds in (1, 8, 64):
        run = begin(seconds)
        end = await ended(run)
        if output(run) or (run.folder / "stderr.log").stat().st_size:
            break
    return run, end


def output(run: StartedRun) -> str:
    return (run.folder / "output.jsonl").read_text(encoding="utf-8")


def gone(pid: int) -> bool:
    return not processes.living(pid)


async def test_a_run_leaves_its_prompt_its_output_and_its_end(launch: Launch) -> None:
    begun = time.monotonic()
    run = launch("import sys; print(sys.stdin.read()[::-1]); print('note', file=sys.stderr); sys.exit(3)", prompt="abc")

    end = await ended(run)

    assert (end.code, end.ended_by, end.truncated, end.error) == (3, "exit", False, None)
    assert (output(run), (run.folder / "stderr.log").read_text(encoding="utf-8")) == ("cba\n", "note\n")
    assert (run.folder / "prompt.md").read_text(encoding="utf-8") == "abc"
    assert end.started_at <= end.ended_at
    assert 0 <= end.duration_ms <= (time.monotonic() - begun) * 1000


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux can enlarge a pipe")
async def test_what_a_program_printed_at_once_before_it_ended_is_kept(
    launch: Launch, up: Callable[..., Awaitable[None]]
) -> None:
    """A Node.js program that ends with `process.exit()` prints so: it does not wait for room in the pipe."""
    run = launch(
        """
        import os, signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.write(1, b"up")
        signal.sigwait([signal.SIGUSR1])
        os.set_blocking(1, False)
        os.write(1, b"x" * 1_000_000)
        os._exit(0)
        """,
        grace_seconds=60,
    )
    await up(run)
    watch = run_folder.load(run.folder, run_folder.SUPERVISOR, run_folder.ProcessWatch)
    assert watch is not None

    os.kill(watch.supervisor.pid, signal.SIGSTOP)
    os.kill(watch.agent.pid, signal.SIGUSR1)
    await up(run, lambda: gone(watch.agent.pid))
    os.kill(watch.supervisor.pid, signal.SIGCONT)
    await ended(run)

    assert len(output(run)) == len("up") + 1_000_000


async def test_every_file_of_a_run_is_for_the_operator_alone(launch: Launch) -> None:
    run = launch("print('done')")

    await ended(run)

    assert {stat.S_IMODE(path.stat().st_mode) for path in run.folder.iterdir()} == {0o600}


async def test_no_value_of_the_environment_is_written_down(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    run = launch("import os; print(os.environ['ANTHROPIC_API_KEY'][::-1])")

    await ended(run)

    assert output(run) == "terces-yrev-ks\n"
    assert not [path.name for path in run.folder.iterdir() if b"sk-very-secret" in path.read_bytes()]


async def test_the_agent_knows_its_run_and_nothing_that_is_not_allowed(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdefghij")
    monkeypatch.setenv("SOMETHING_ELSE", "1")
    monkeypatch.setenv("PRLOOM_EXCHANGE", "/somewhere/exchange.db")
    run = launch("import os, json; print(json.dumps(dict(os.environ)))")

    await ended(run)

    env = json.loads(output(run))
    assert env["PRLOOM_RUN"] == run.id
    assert not {"GITHUB_TOKEN", "SOMETHING_ELSE", "PRLOOM_EXCHANGE", "PRLOOM_WORKER"} & set(env)


async def test_the_agent_is_in_a_session_of_its_own(launch: Launch) -> None:
    run = launch("import os; print(os.getsid(0), os.getpid(), os.getsid(os.getppid()))")

    await ended(run)

    session, agent, workers = (int(word) for word in output(run).split())
    assert session == agent
    assert session != workers


async def test_a_run_that_takes_too_long_is_ended(launch: Launch) -> None:
    program = ("sh", "-c", "while :; do echo tick; sleep 0.05; done")

    run, end = await ended_after_it_spoke(lambda seconds: launch(program, wall_seconds=seconds, grace_seconds=60))

    assert (end.code, end.ended_by) == (-15, "timeout")
    assert output(run).startswith("tick\n")


async def test_a_run_that_keeps_talking_is_not_silent(launch: Launch) -> None:
    run = launch(
        "import time\nfor _ in range(8): print(time.time(), flush=True); time.sleep(0.2)",
        silence_seconds=1.5,
    )

    end = await ended(run)

    spoke = (end.started_at.timestamp(), *map(float, output(run).split()), end.ended_at.timestamp())
    # On a busy machine, it may really have been silent for as long.
    assert end.ended_by == "exit" or max(later - earlier for earlier, later in pairwise(spoke)) > 1.5


async def test_a_run_that_waits_for_a_tool_of_prlooms_is_not_silent(launch: Launch) -> None:
    run = launch("import time; time.sleep(1.5)", silence_seconds=0.5)
    waiting = tool_wait.begin(run.folder)
    assert waiting is not None

    end = await ended(run)

    tool_wait.end(waiting)
    assert end.ended_by == "exit"


async def test_a_run_is_silent_again_once_its_tool_has_answered(launch: Launch, up: Up) -> None:
    run = launch("import time; print('up', flush=True); time.sleep(600)", silence_seconds=0.5)
    waiting = tool_wait.begin(run.folder)
    assert waiting is not None
    await up(run)

    tool_wait.end(waiting)

    assert (await ended(run)).ended_by == "silence"


async def test_a_run_that_says_too_much_is_ended_and_keeps_the_beginning(launch: Launch) -> None:
    run = launch("while True: print('0123456789' * 1000)", output_bytes=100_000)

    end = await ended(run)

    assert (end.ended_by, end.truncated) == ("output", True)
    assert (run.folder / "output.jsonl").stat().st_size == 100_000


async def test_a_flood_stops_no_clock(launch: Launch) -> None:
    program = ("sh", "-c", "exec yes 0123456789 >&2")

    run, end = await ended_after_it_spoke(lambda seconds: launch(program, wall_seconds=seconds, stderr_bytes=10))

    assert (end.ended_by, end.stderr_truncated, end.truncated) == ("timeout", True, False)
    assert (run.folder / "stderr.log").read_bytes() == b"0123456789"


async def test_a_program_that_ignores_the_request_to_end_is_killed(launch: Launch, up: Up) -> None:
    run = launch(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)"
    )
    await up(run)

    await started_runs.stop(run)

    assert (await ended(run)).code == -9


async def test_what_a_program_says_while_it_ends_is_kept(launch: Launch, up: Up) -> None:
    run = launch(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"last words\\n"), os._exit(0)))
        os.write(1, b"up\\n")
        time.sleep(600)
        """,
        grace_seconds=60,
    )
    await up(run)

    await started_runs.stop(run)
    end = await ended(run)

    assert (end.code, end.ended_by, output(run)) == (0, "terminated", "up\nlast words\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere orphans do not come to the supervisor")
async def test_an_orphan_in_another_session_is_gone_when_the_run_is_over(launch: Launch) -> None:
    run = launch(ORPHAN)

    end = await ended(run)

    assert (end.code, end.ended_by, end.left_over) == (0, "exit", 0)
    assert gone(int(output(run)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere orphans do not come to the supervisor")
async def test_an_orphan_is_gone_after_a_limit_as_well(launch: Launch) -> None:
    program = ORPHAN + "\ntime.sleep(600)"

    run, end = await ended_after_it_spoke(lambda seconds: launch(program, silence_seconds=seconds))

    assert end.ended_by == "silence"
    assert gone(int(output(run)))


async def test_a_background_process_that_holds_the_output_open_delays_nothing(launch: Launch) -> None:
    run = launch("import subprocess; print(subprocess.Popen(['sleep', '600']).pid)")

    end = await ended(run)

    assert (end.code, end.ended_by) == (0, "exit")
    assert gone(int(output(run)))


async def test_a_program_that_cannot_be_started_is_an_end_as_well(launch: Launch, tmp_path: Path) -> None:
    broken = executable.write(tmp_path / "broken", "#!/no/such/interpreter\n")
    run = launch((str(broken),))

    end = await ended(run)

    assert (end.code, end.ended_by) == (127, "exit")
    assert end.error is not None
    assert end.error.startswith(f"{broken}: No such file or directory")


async def test_a_killed_supervisor_leaves_no_agent_behind(launch: Launch, up: Up) -> None:
    run = launch(ORPHAN + "\ntime.sleep(600)")
    await up(run)
    watch = run_folder.load(run.folder, run_folder.SUPERVISOR, run_folder.ProcessWatch)
    assert watch is not None

    os.kill(watch.supervisor.pid, signal.SIGKILL)
    fate = await started_runs.wait(run)

    assert isinstance(fate, RunInterrupted)
    assert gone(watch.agent.pid)
    assert gone(int(output(run)))
    assert not processes.tagged(RUN_VARIABLE, run.id)


async def test_a_run_without_instructions_says_so(launch: Launch) -> None:
    run = launch("print(1)")
    (run.folder / "invocation.json").unlink()

    end = await ended(run)

    assert (end.code, end.error) == (127, f"{run.folder / 'invocation.json'} cannot be read")


def test_what_a_full_disk_does_not_take_of_the_output_is_kept_up_to_the_limit() -> None:
    file = CappedFile(os.open("/dev/full", os.O_WRONLY), 4)
    file.write(b"abc")
    assert not file.full

    file.write(b"def")
    with pytest.raises(OSError, match="No space left"):
        file.flush()
    assert file.full
    file.close()
