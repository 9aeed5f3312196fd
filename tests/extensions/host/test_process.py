"""What a process of its own protects from: hangs, crashes, leaks, prints, and what a plugin starts."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path

import msgspec
import psutil
import pytest
from values import NoServices, an_event, hook_call

from prloom import processes
from prloom.api.manifest import Manifest
from prloom.errors import ExtensionError
from prloom.extensions import plugin_log
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host import process
from prloom.extensions.host.interface import HookFailed
from prloom.extensions.host.process import ProcessHost

Plugin = Callable[..., DiscoveredPlugin]
Open = Callable[..., ProcessHost]
Tell = Callable[..., Awaitable[str | None]]

LONG = timedelta(minutes=4)
SHORT = timedelta(milliseconds=200)

OBEDIENT = """
    import ctypes, json, os, signal, subprocess, sys, threading, time
    from pathlib import Path

    STARTED, DONE = threading.Event(), threading.Event()

    def answer(result):
        line = json.dumps(result).encode() + b"\\n"
        for fd in (3, 4, 5):
            if Path(f"/proc/self/fd/{fd}").exists() and os.stat(fd) != os.stat(2):
                try:
                    os.write(fd, line)
                except OSError:
                    pass  # the end for reading

    def register(ctx):
        @ctx.hook("beforeTriage")
        def execute(plan, triage):
            told = {}
            exec(triage.events[0].body, globals() | {"triage": triage}, told)
            return told.get("plan", "fine")
"""


@pytest.fixture
def execute_with() -> Callable[[ProcessHost], Tell]:
    """Return a way to have a plugin execute code in its hook, and to get the plan that it sets."""

    def through(host: ProcessHost) -> Tell:
        async def execute(code: str, limit: timedelta = LONG) -> str | None:
            call = hook_call("beforeTriage", an_event(body=textwrap.dedent(code)))
            return (await host.run(call, NoServices(), limit)).plan

        return execute

    return through


@pytest.fixture
def host(plugin: Plugin, process_host: Open) -> ProcessHost:
    return process_host(plugin(OBEDIENT))


@pytest.fixture
def execute(host: ProcessHost, execute_with: Callable[[ProcessHost], Tell]) -> Tell:
    return execute_with(host)


async def failure(running: Awaitable[object]) -> HookFailed:
    with pytest.raises(HookFailed) as caught:
        await running
    return caught.value


def gone(pids: str | None) -> list[bool]:
    """Whether each of these processes has ended (it may wait for its new parent to take note)."""
    assert pids is not None
    return [not processes.living(pid) for pid in json.loads(pids)]


@pytest.mark.parametrize(
    ("deed", "how"),
    [
        ("os.fork() or time.sleep(60); os._exit(3)", "it exited with status 3"),  # a child holds its end of the pipes
        ("os.kill(os.getpid(), signal.SIGKILL)", "it was ended by SIGKILL"),
        # Its main thread either waits for a message already and is killed, or finds the pipe closed and ends by itself.
        ("os.closerange(3, 64); time.sleep(300)", ("it was ended by SIGKILL", "it exited with status 0")),
        ("answer('garbage'); time.sleep(300)", "a line is not a JSON-RPC 2.0 message"),
        (
            "answer({'jsonrpc': '2.0', 'id': 3, 'result': {'plan': 5}}); time.sleep(300)",
            "its answer is not a valid outcome: Expected `str | null`, got `int` - at `$.plan`",
        ),
    ],
)
async def test_a_process_that_dies_fails_the_hook_and_the_next_call_gets_a_new_one(
    execute: Tell, deed: str, how: str | tuple[str, ...]
) -> None:
    before = await execute("plan = str(os.getpid())")
    ways = (how,) if isinstance(how, str) else how

    failed = await failure(execute(deed))

    assert str(failed) in {f"plugin noted: its process died while beforeTriage ran: {way}" for way in ways}
    assert (failed.kind, failed.collateral) == ("died", False)
    assert await execute("plan = str(os.getpid())") not in {before, str(os.getpid())}


async def test_nothing_that_a_plugin_prints_breaks_the_protocol_and_all_of_it_is_logged(
    host: ProcessHost, execute: Tell, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    said = r"""
        print('{"jsonrpc": "2.0"}')
        os.write(1, b'raw\n')
        subprocess.run(['echo', 'child \x1b[31m'])
        print('torn \ud800', end='')
        sys.stdout.flush()
    """
    assert await execute(said) == "fine"
    await host.stop()

    assert [(record.name, record.levelno, record.message) for record in caplog.records] == [
        ("prloom.plugin.noted", logging.INFO, 'plugin noted: {"jsonrpc": "2.0"}'),
        ("prloom.plugin.noted", logging.INFO, "plugin noted: raw"),
        ("prloom.plugin.noted", logging.INFO, r"plugin noted: child \x1b[31m"),
        ("prloom.plugin.noted", logging.INFO, r"plugin noted: torn \ud800"),
    ]


async def test_a_plugin_is_alone_in_its_process_and_session_at_the_repositorys_root_with_nothing_to_read(
    execute: Tell, tmp_path: Path
) -> None:
    alone = "plan = json.dumps([os.getpid() == os.getsid(0) == os.getpgrp(), os.getcwd(), sys.stdin.read()])"
    before = set(sys.modules)

    assert json.loads(await execute(alone) or "") == [True, str(tmp_path), ""]
    assert not any(name.startswith("prloom_plugins.") for name in set(sys.modules) - before)


async def test_no_module_is_taken_from_the_repository_and_nothing_is_left_beside_the_plugin(
    host: ProcessHost, tmp_path: Path
) -> None:
    for name in ("json", "msgspec", "logging", "prloom_plugins"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the repository was executed')")
    (tmp_path / "prloom").mkdir()

    await host.start()

    assert sorted(path.name for path in (tmp_path / "noted").iterdir()) == ["__init__.py", "plugin.toml"]


async def test_the_forges_token_is_not_in_the_environment_and_what_the_plugin_asks_for_is(
    plugin: Plugin, process_host: Open, execute_with: Callable[[ProcessHost], Tell], environ: Mapping[str, str]
) -> None:
    asks = Manifest(name="noted", requires_env=("NOTES_KEY", "GITHUB_TOKEN"))
    found = msgspec.structs.replace(plugin(OBEDIENT), manifest=asks)
    secret = {"GITHUB_TOKEN": "s", "GH_TOKEN": "s", "GITLAB_TOKEN": "s", "AWS_SECRET_ACCESS_KEY": "s"}
    host = process_host(found, environ={**environ, **secret, "NOTES_KEY": "k"})

    seen = json.loads(await execute_with(host)("plan = json.dumps(dict(os.environ))") or "")

    assert seen["NOTES_KEY"] == "k"
    assert not secret.keys() & seen.keys()


FAMILY = """
    own = subprocess.Popen(["sleep", "300"])
    away = subprocess.Popen(["sleep", "300"], start_new_session=True)
    fork = "import subprocess as s; print(s.Popen(['sleep', '300'], start_new_session=True, stdout=2).pid)"
    daemon = int(subprocess.run([sys.executable, "-c", fork], stdout=subprocess.PIPE, check=True).stdout)
    fork = "import subprocess as s; print(s.Popen(['sleep', '300'], env={}, stdout=2).pid)"
    unmarked = int(subprocess.run([sys.executable, "-c", fork], stdout=subprocess.PIPE, check=True).stdout)
    # The double fork of a daemon, without a trace of where it comes from.
    twice = "import os,sys; os.fork() and os._exit(0); os.setsid(); pid = os.fork(); pid and print(pid, flush=True); "
    twice += "pid and os._exit(0); os.close(1); os.execve('/bin/sleep', ['sleep', '300'], {})"
    hidden = int(subprocess.run([sys.executable, "-c", twice], env={}, stdout=subprocess.PIPE, check=True).stdout)
    plan = json.dumps([os.getpid(), own.pid, away.pid, daemon, unmarked, hidden])
"""


@pytest.mark.parametrize("end", ["time.sleep(300)", "os._exit(0)"])
async def test_all_that_a_plugin_started_ends_with_its_process(execute: Tell, end: str) -> None:
    family = await execute(FAMILY)
    assert gone(family) == [False] * 6

    await failure(execute(end, SHORT))

    assert gone(family) == [True] * 6


async def test_a_call_that_was_stopped_because_another_overran_is_not_at_fault(execute: Tell) -> None:
    innocent = asyncio.create_task(failure(execute("STARTED.set(); time.sleep(300)")))
    await execute("STARTED.wait(60)")

    guilty = await failure(execute("time.sleep(300)", SHORT))
    failed = await innocent

    assert (guilty.kind, guilty.collateral) == ("overran", False)
    assert (failed.kind, failed.collateral) == ("stopped", True)
    assert str(failed) == (
        "plugin noted: its process was stopped while beforeTriage ran (beforeTriage of pr-7 took too long);"
        " prloom runs beforeTriage again"
    )


async def test_calls_that_fell_when_the_process_died_by_itself_all_count(execute: Tell) -> None:
    first = asyncio.create_task(failure(execute("STARTED.set(); time.sleep(300)")))
    await execute("STARTED.wait(60)")

    second = await failure(execute("os._exit(1)"))

    assert [(await first).kind, second.kind] == ["died", "died"]


async def test_a_process_that_keeps_dying_is_left_alone_for_longer_each_time(
    plugin: Plugin, process_host: Open, execute_with: Callable[[ProcessHost], Tell]
) -> None:
    now = 1000.0
    execute = execute_with(process_host(plugin(OBEDIENT), clock=lambda: now))
    for _ in range(2):
        assert (await failure(execute("os._exit(1)"))).kind == "died"

    failed = await failure(execute(""))
    assert (failed.kind, failed.collateral) == ("waiting", False)
    assert str(failed) == "plugin noted: its process died 2 times in a row; it is started again in 1 s"
    assert failed.retry_after is not None

    now += failed.retry_after.total_seconds()
    assert await execute("") == "fine"
    assert (await failure(execute("os._exit(1)"))).kind == "died"
    assert await execute("") == "fine", "a call that worked makes it start from the beginning"


async def test_overrunning_does_not_make_the_next_start_wait(execute: Tell) -> None:
    for _ in range(2):
        assert (await failure(execute("time.sleep(300)", SHORT))).kind == "overran"

    assert await execute("") == "fine"


def test_the_wait_for_a_new_start_doubles_up_to_five_minutes() -> None:
    waits = [process.restart_delay(deaths, "noted").total_seconds() for deaths in (0, 1, 2, 3, 4, 50)]

    assert waits[:3] == [0, 0, 1]
    assert 1.8 <= waits[3] <= 2 < waits[4] <= 4
    assert 270 <= waits[5] <= 300


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\nos._exit(4)", "its process died: it exited with status 4"),
        ("import time\ntime.sleep(300)", "it took longer than 0.5 s"),
    ],
)
async def test_a_plugin_that_does_not_come_up_says_why(
    plugin: Plugin, process_host: Open, code: str, said: str
) -> None:
    host = process_host(plugin(code), start_limit=timedelta(seconds=0.5 if "sleep" in code else 60))

    with pytest.raises(ExtensionError, match=f"^plugin noted could not be loaded: {said}$"):
        await host.start()


async def test_a_machine_that_refuses_a_process_is_an_error_of_that_plugin(
    plugin: Plugin, process_host: Open, tmp_path: Path
) -> None:
    host = process_host(plugin(OBEDIENT), repo_root=tmp_path / "absent")

    with pytest.raises(ExtensionError, match="plugin noted could not be loaded: its process could not be started: "):
        await host.start()


@pytest.mark.parametrize("flood", ["sys.stdout.write('x' * 100_000)", "triage.log.info('x' * 100)", "print()"])
async def test_a_flood_of_output_is_cut_and_ends_with_the_time_limit(
    execute: Tell, host: ProcessHost, caplog: pytest.LogCaptureFixture, flood: str
) -> None:
    caplog.set_level(logging.INFO)
    await host.start()

    failed = await failure(execute(f"while True:\n    {flood}", SHORT))

    assert failed.kind == "overran"
    assert len(caplog.records) < 10 * plugin_log.MOST_LINES
    assert all(len(message) < 2 * plugin_log.LONGEST_LINE for message in caplog.messages)


async def test_a_call_that_is_too_large_fails_and_harms_nobody_else(host: ProcessHost, execute: Tell) -> None:
    huge = hook_call(plan="x" * (33 * 1024 * 1024))

    failed = await failure(host.run(huge, NoServices(), LONG))

    assert str(failed).startswith("plugin noted: beforeTriage could not be called: a message of ")
    assert await execute("") == "fine"


async def test_a_call_that_is_given_up_leaves_the_process_to_the_others(execute: Tell) -> None:
    running = asyncio.create_task(execute("STARTED.set(); DONE.wait(60)"))
    await execute("STARTED.wait(60)")
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert await execute("DONE.set()") == "fine"


DISPATCHER = """
import asyncio, os, sys
from datetime import timedelta
from pathlib import Path
import msgspec
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.process import ProcessHost
from prloom.model.hook import HookCall

async def main():
    found, call = sys.stdin.readline(), sys.stdin.readline()
    found, long = msgspec.json.decode(found, type=DiscoveredPlugin), timedelta(minutes=4)
    host = ProcessHost(found, {}, repo_root=Path.cwd(), environ=os.environ, start_limit=long)
    await host.run(msgspec.json.decode(call, type=HookCall), None, long)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "deed",
    [
        "time.sleep(300)",
        pytest.param(
            "ctypes.PyDLL(None).sleep(300)",  # C code that holds the interpreter: no thread of the host can act
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="only Linux tells a process of its parent's death"
            ),
        ),
    ],
)
async def test_a_dispatcher_that_is_killed_takes_the_processes_of_its_plugins_with_it(
    plugin: Plugin, tmp_path: Path, deed: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    body = f"{textwrap.dedent(FAMILY)}\nPath({str(tmp_path / 'fifo')!r}).write_text(plan); {deed}"
    found = msgspec.json.encode(plugin(OBEDIENT))
    call = msgspec.json.encode(hook_call("beforeTriage", an_event(body=body)))
    dispatcher = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DISPATCHER, stdin=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    assert dispatcher.stdin is not None
    dispatcher.stdin.write(found + b"\n" + call + b"\n")
    pids = json.loads(await asyncio.to_thread((tmp_path / "fifo").read_text))
    family = [psutil.Process(pid) for pid in pids]

    dispatcher.kill()
    await dispatcher.wait()

    _, alive = await asyncio.to_thread(psutil.wait_procs, family, 60)
    assert not alive


def test_a_loop_that_ends_without_a_stop_leaves_nothing_behind(plugin: Plugin, tmp_path: Path) -> None:
    async def torn_down() -> str | None:
        host = ProcessHost(plugin(OBEDIENT), {}, repo_root=tmp_path, environ=os.environ, start_limit=LONG)
        call = hook_call("beforeTriage", an_event(body=textwrap.dedent(FAMILY)))
        return (await host.run(call, NoServices(), LONG)).plan

    assert gone(asyncio.run(torn_down())) == [True] * 6
