"""A daemon from its start to its end, as a real process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import loop_time
import psutil
import pytest
from daemon_scene import PATIENCE, Opener, Scene, gone

from prloom.api.manifest import HealthCheck
from prloom.extensions.background import process, runtime_folder
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.process import DaemonIds
from prloom.processes import Process

LIMIT = timedelta(minutes=1)
SHORT = timedelta(milliseconds=100)
QUICK = HealthCheck(interval=20, timeout=100, retries=2)
PATIENT = HealthCheck(interval=20, timeout=60_000, retries=2)


async def failure(at: Scene, method: str, limit: timedelta = LIMIT) -> CallError:
    with pytest.raises(CallError) as caught:
        await at.daemons.call("odd", method, {}, limit)
    return caught.value


@pytest.mark.parametrize("modes", [(), ("one-request",), ("no-newline",)])
async def test_the_methods_of_a_daemon_that_answers_can_be_called_also_where_each_request_needs_a_connection(
    scene: Opener, modes: tuple[str, ...]
):
    async with scene(*modes) as at:
        await at.until("running")

        given = ({"text": "é"}, 2, 3)
        assert [await at.daemons.call("odd", "echo", each, LIMIT) for each in given] == list(given)


async def test_calls_overlap_and_each_gets_its_own_answer(scene: Opener):
    async with scene() as at:
        await at.until("running")
        silent = asyncio.create_task(failure(at, "nothing", timedelta(seconds=1)))

        answers = await asyncio.gather(*(at.daemons.call("odd", "echo", each, LIMIT) for each in range(50)))

        assert answers == list(range(50))
        assert (await silent).kind == "timed_out"


async def test_a_daemon_that_binds_late_and_one_that_knows_no_health_check_are_ready_all_the_same(scene: Opener):
    async with scene("bind-late", "no-health-method", health=PATIENT) as at:
        await at.until("running")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(at.daemon.reached("error"), 10 * PATIENT.interval / 1000)

        assert at.daemon.life.health_failures == 0


async def test_a_call_before_the_first_attempt_says_that_the_daemon_has_not_been_started(scene: Opener):
    async with scene() as at:
        error = await failure(at, "echo")

    assert (error.kind, error.error_type) == ("not_started", "plugin_error")
    assert str(error) == "Background process 'odd' has not been started; run `prloom plugins status`"


async def test_a_daemon_that_cannot_be_started_at_all_has_not_been_started(scene: Opener):
    async with scene(requires_env=("MISSING_KEY",)) as at:
        await at.until("error")
        error = await failure(at, "echo")

    assert str(at.daemon.life.reason) == "it needs MISSING_KEY in the environment"
    assert str(error) == "Background process 'odd' has not been started; run `prloom plugins status`"


async def test_a_call_while_it_starts_fails_at_once_and_names_the_state(scene: Opener):
    async with scene("never-bind") as at:
        await at.until("starting")
        error = await failure(at, "echo")

    assert error.kind == "not_running"
    assert str(error) == "Background process 'odd' is not running (state: starting); run `prloom plugins status`"


@pytest.mark.parametrize(
    ("method", "kind", "said"),
    [
        ("garbage", "malformed", "gave a malformed answer: a line is not JSON"),
        ("unknown", "rpc_error", "RPC error (-32601): there is no method unknown"),
        ("close", "other", "Background process 'odd' error: connection closed before the answer"),
    ],
)
async def test_an_answer_that_is_none_fails_that_call_and_the_next_one_succeeds(
    scene: Opener, method: str, kind: str, said: str
):
    async with scene() as at:
        await at.until("running")

        error = await failure(at, method)

        assert error.kind == kind
        assert said in str(error)
        assert await at.daemons.call("odd", "echo", "still here", LIMIT) == "still here"


async def test_a_call_without_an_answer_times_out_and_is_cancelled_at_the_daemon(scene: Opener):
    async with scene() as at:
        await at.until("running")

        error = await failure(at, "nothing", SHORT)

        assert (error.kind, error.error_type) == ("timed_out", "timeout_error")
        assert "no answer to nothing in 100 ms" in str(error)
        assert await at.noted_line("$/cancel")


async def test_a_daemon_that_exits_early_is_an_immediate_error_with_the_end_of_its_log(scene: Opener):
    async with scene("exit-early") as at:
        await at.until("error")

        assert at.daemon.life.reason == "it exited with status 4"
        assert at.daemon.files.last_lines == ("cannot go on",)
        assert at.daemon.next_attempt_in is not None


async def test_a_daemon_that_never_binds_is_given_up_after_its_time_and_its_process_is_gone(scene: Opener):
    async with scene("never-bind", startup_timeout=300) as at:
        await at.until("starting")
        pid = await at.pid()
        await at.until("error")

        assert "it was not ready within 300 ms: " in str(at.daemon.life.reason)
        assert gone(pid)


async def test_another_process_at_the_socket_is_not_taken_for_the_daemon(scene: Opener, tmp_path: Path):
    async with scene("never-bind") as at:
        await at.until("starting")
        assert at.daemon.runtime_dir is not None
        asked, known = 0, asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            if asked > 1:  # what came of the first answer is known
                known.set()
            number = json.loads(await reader.readline())["id"]
            writer.write(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % number)
            writer.close()

        path = str(Path(at.daemon.runtime_dir) / runtime_folder.SOCKET)
        async with await asyncio.start_unix_server(answer, path):
            await asyncio.wait_for(known.wait(), PATIENCE)
            loop_time.let_pass(at.daemon.startup_limit.total_seconds())
            await at.until("error")

        assert f"process {os.getpid()}, which is not the daemon, listens" in str(at.daemon.life.reason)


async def test_an_ordinary_file_in_the_socket_s_place_is_never_deleted(scene: Opener):
    path = scene.socket()
    path.write_text("mine")
    async with scene() as at:
        await at.until("error")

        assert "is where its socket belongs, but is not a socket; move it away" in str(at.daemon.life.reason)
        assert (await failure(at, "echo")).kind == "not_started"
    assert path.read_text() == "mine"


async def test_a_daemon_that_was_killed_by_a_signal_is_stopped_and_started_by_orders_at_once(scene: Opener):
    """In an earlier system a stop hung on a child that a signal had ended, and no restart ever succeeded."""
    async with scene() as at:
        await at.until("running")
        os.kill(await at.pid(), signal.SIGKILL)
        await at.until("error")
        assert at.daemon.life.reason == "it was ended by SIGKILL"

        await at.daemons.order("stop", "odd")
        await at.daemons.order("start", "odd")

        assert await at.daemons.call("odd", "echo", 1, LIMIT) == 1


async def test_a_daemon_that_is_stopped_by_a_signal_fails_its_health_checks_and_is_ended(scene: Opener):
    """In an earlier system a health check only looked whether the process was there."""
    async with scene(health=QUICK) as at:
        await at.until("running")
        pid = await at.pid()
        os.kill(pid, signal.SIGSTOP)
        await at.until("error")

        assert "it did not pass 2 health checks in a row" in str(at.daemon.life.reason)
        assert gone(pid)


async def test_a_daemon_that_says_it_is_not_healthy_is_restarted(scene: Opener):
    async with scene("unhealthy-later", health=PATIENT) as at:
        await at.until("running")
        await at.until("error")

        assert "RPC error (-32000): not well" in str(at.daemon.life.reason)
        assert at.daemon.life.next_attempt is not None


async def test_what_a_daemon_says_does_not_work_is_reported_and_it_goes_on(scene: Opener):
    async with scene("half-works", health=PATIENT) as at:
        await at.until("running")
        async with asyncio.timeout(LIMIT.total_seconds()):
            while at.daemon.life.problem is None:  # noqa: ASYNC110 - a health check signals nothing
                await asyncio.sleep(0)
        report = at.daemon.report(lambda _: datetime(2026, 11, 23, tzinfo=UTC))

    assert (report["state"], report["problem"]) == ("running", "no mail\ufffd goes out")
    assert report["problemSince"] == "2026-11-23T00:00:00.000Z"


async def test_a_daemon_that_ignores_sigterm_is_ended_with_all_that_it_started_also_with_another_parent(scene: Opener):
    async with scene("ignore-sigterm", "grandchild", "orphan") as at:
        await at.until("running")
        started = [int((await at.noted_line(each)).split()[1]) for each in ("grandchild", "orphan")]
        pids = [await at.pid(), *started]

        await at.daemons.order("stop", "odd")

        assert [gone(pid) for pid in pids] == [True, True, True]


async def test_a_flood_of_output_holds_up_nothing_and_the_log_is_bounded(scene: Opener, tmp_path: Path):
    async with scene("flood") as at:
        await at.until("running")
        slowest = 0.0
        for _ in range(50):
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)
            slowest = max(slowest, asyncio.get_running_loop().time() - began)

        assert await at.daemons.call("odd", "echo", 1, LIMIT) == 1
        assert slowest < 60  # a flood that is taken in at once would be waited for without an end
    logs = list((tmp_path / "local/plugins/odd").glob("daemon.log*"))
    assert sum(each.stat().st_size for each in logs) < 4 * 1024 * 1024


async def test_a_daemon_that_floods_its_connection_is_ended_at_once_and_the_reason_is_shown(scene: Opener):
    async with scene() as at:
        await at.until("running")
        pid = await at.pid()
        assert await at.daemons.call("odd", "much", {}, LIMIT) == "and more"
        await at.until("error")
        report = at.daemon.report(lambda _: at.now)

    assert report["reason"] == (
        "Background process 'odd' gave a malformed answer: "
        "it sends more than 1000 messages a minute that nobody asked for"
    )
    assert report["nextAttemptAt"] is not None
    assert gone(pid)


async def test_a_daemon_left_by_a_crash_is_ended_and_a_process_that_got_its_number_is_left_alone(scene: Opener):
    other = await asyncio.create_subprocess_exec("sleep", "100")
    try:
        stale = DaemonIds(reaper=None, daemon=Process(other.pid, "1"), mark="nothing-has-this-mark")

        assert not await process.end_left(stale)
        assert other.returncode is None
        assert psutil.pid_exists(other.pid)
    finally:
        other.kill()
        await other.wait()


async def test_the_environment_holds_what_is_named_and_no_more(scene: Opener):
    async with scene(environ={"SECRET_KEY": "hidden", "WANTED": "yes"}, requires_env=("WANTED",)) as at:
        await at.until("running")
        found = await at.daemons.call("odd", "environment", {}, LIMIT)

    own = {"PRLOOM_PLUGIN", "PRLOOM_REPO_ROOT", "PRLOOM_SOCKET_PATH", "SOCKET_PATH", "PRLOOM_HOST_ID"}
    assert found.keys() - {"LC_CTYPE", "PWD", "_"} == {"PATH", "WANTED", "PLUGIN_CONFIG_RECORD", *own}
    assert found["SOCKET_PATH"] == found["PRLOOM_SOCKET_PATH"] == str(scene.socket())
