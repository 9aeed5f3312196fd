"""Workers that are asked to stop, are stopped, lose their claim, or are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from prloom.exchange import validation

# Says its id through one pipe, then waits for the other.
MEETS = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("begun", "w").write(str(os.getpid()))
sys.stdout.write(open("go").read())
"""
STOPPED = 130


@pytest.fixture
def meeting(runtime: Any) -> list[str]:
    runtime.pipe("begun")
    runtime.pipe("go")
    return list(runtime.program(MEETS))


def begun(runtime: Any) -> int:
    """Wait for the command to begin, and return its process id."""
    return int((runtime.folder / "begun").read_text())


def let_go(runtime: Any, word: str) -> None:
    (runtime.folder / "go").write_text(word)


def test_a_worker_that_is_asked_to_stop_finishes_what_it_is_at(runtime: Any, meeting: list[str]):
    first, second = runtime.exchange.publish("jobs", "1"), runtime.exchange.publish("jobs", "2")
    worker = runtime.start("--grace", "50s", command=meeting)
    begun(runtime)

    os.killpg(worker.pid, signal.SIGINT)  # as a terminal does
    let_go(runtime, "done")

    assert worker.wait(30) == STOPPED
    assert runtime.reply(first).body == "done"
    assert runtime.entry(second).claims == ()


@pytest.mark.parametrize("how", ["--grace=100ms", "--grace=100s"])
def test_a_worker_that_cannot_finish_in_time_hands_back_without_an_attempt_counted(
    how: str, runtime: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start(how, command=meeting)
    command = begun(runtime)

    worker.send_signal(signal.SIGINT)
    if how == "--grace=100s":
        worker.send_signal(signal.SIGTERM)  # the second one means it

    assert worker.wait(30) == STOPPED
    entry = runtime.entry(asked)
    assert (entry.delivery.state, entry.delivery.attempts, entry.delivery.available_at) == ("ready", 0, None)
    assert entry.claims[0].error == "the worker was stopped"
    assert gone(command)


def test_a_worker_that_waits_stops_at_once(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start(command=["cat"])
    runtime.reply(asked)

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(30) == STOPPED
    told = worker.stderr.read()
    assert told.count("\n") == 2
    assert told.endswith("prloom: interrupted\n")


def test_a_worker_that_was_started_deaf_to_interrupts_stays_so(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")
    argv = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *runtime.argv(command=["cat"])]
    worker = subprocess.Popen(argv, cwd=runtime.folder, stderr=subprocess.PIPE, text=True)
    runtime.workers.append(worker)
    runtime.reply(asked)

    worker.send_signal(signal.SIGINT)

    assert runtime.reply(runtime.exchange.publish("jobs", "y")).body == "y"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == STOPPED


def test_a_lease_is_renewed_for_as_long_as_the_command_runs(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once("--lease", "3s", command=["sh", "-c", "sleep 4; echo done"])

    assert runtime.reply(asked).body == "done\n"
    assert len(runtime.entry(asked).claims) == 1


def test_a_worker_that_was_stopped_past_its_lease_ends_its_command_and_settles_nothing(
    runtime: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = runtime.exchange.publish("jobs", "x")
    stopped = runtime.start("--lease", "3s", command=meeting)
    command = begun(runtime)

    stopped.send_signal(signal.SIGSTOP)
    runtime.once(command=["echo", "by another"])
    stopped.send_signal(signal.SIGCONT)

    assert "lost" in stopped.stderr.readline()
    assert gone(command)
    stopped.send_signal(signal.SIGTERM)
    stopped.wait(30)
    replies = [each.body for each in runtime.exchange.read() if each.parent_id == asked.id]
    assert replies == ["by another\n"]
    assert [claim.status for claim in runtime.entry(asked).claims] == ["expired", "completed"]


def test_a_worker_whose_message_is_cancelled_ends_its_command(
    runtime: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start("--lease", "3s", command=meeting)
    command = begun(runtime)

    runtime.exchange.cancel(asked.id)

    assert "cancelled" in worker.stderr.readline()
    assert gone(command)
    assert [each.topic for each in runtime.exchange.read()] == ["jobs", "jobs.cancelled"]


def test_a_worker_that_is_killed_takes_its_command_with_it(
    runtime: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start("--lease", "3s", command=meeting)
    command = begun(runtime)

    worker.kill()

    assert gone(command)
    runtime.once(command=["echo", "by another"])
    assert runtime.reply(asked).body == "by another\n"


def test_of_several_workers_one_that_is_killed_is_started_again(runtime: Any):
    first = runtime.exchange.publish("jobs", "1")
    keeper = runtime.start("--concurrency", "2", command=["cat"])
    runtime.reply(first)
    before = psutil.Process(keeper.pid).children()

    before[0].kill()
    before[0].wait(30)
    before[1].kill()
    second = runtime.exchange.publish("jobs", "2")

    assert runtime.reply(second).body == "2"
    keeper.send_signal(signal.SIGTERM)
    assert keeper.wait(30) == STOPPED


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_several_workers_end_with_their_keeper(
    how: signal.Signals, runtime: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = runtime.exchange.publish("jobs", "x")
    keeper = runtime.start("--concurrency", "3", "--grace", "100ms", command=meeting)
    command = begun(runtime)
    several = psutil.Process(keeper.pid).children()

    keeper.send_signal(how)

    assert keeper.wait(30) == (STOPPED if how == signal.SIGTERM else -how)
    assert len(several) == 3
    assert all(gone(each.pid) for each in several)
    assert gone(command)
    assert runtime.entry(asked).delivery.attempts == 0


def test_ten_workers_do_a_thousand_jobs_of_five_milliseconds_each_once(runtime: Any):
    asked = runtime.exchange.publish_all([validation.draft("jobs", str(number)) for number in range(1000)])
    keeper = runtime.start("--concurrency", "10", command=["sh", "-c", 'read -r n; printf %s "$n"; exec sleep 0.005'])

    told = [keeper.stderr.readline() for _ in asked]
    keeper.send_signal(signal.SIGTERM)
    keeper.wait(30)

    assert [line for line in told if "attempt 1: completed in" not in line] == []
    messages = runtime.exchange.read(topic="jobs.completed", limit=2000)
    assert sorted((each.parent_id, each.body) for each in messages) == sorted((each.id, each.body) for each in asked)
    claims = [claim for each in asked for claim in runtime.entry(each).claims]
    assert [claim.status for claim in claims] == ["completed"] * 1000
    assert len({claim.worker_instance_id for claim in claims}) == 10


def test_nothing_is_left_of_a_worker_that_has_ended(runtime: Any):
    runtime.exchange.publish("jobs", "x")

    runtime.once(command=["cat"])

    ours = os.getpid()
    left = [
        each for each in psutil.process_iter() if _names(each, str(runtime.folder / "jobs.db")) and each.pid != ours
    ]
    assert psutil.wait_procs(left, timeout=30)[1] == []


def _names(process: psutil.Process, word: str) -> bool:
    try:
        return word in process.cmdline()
    except psutil.Error:
        return False
