"""Workers that are asked to stop, are stopped, lose their claim, or are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from prloom.exchange import drafting

# Says its id through one pipe, then waits for the other.
MEETS = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("begun", "w").write(str(os.getpid()))
sys.stdout.write(open("go").read())
"""
STOPPED = 130


@pytest.fixture
def meeting(desk: Any) -> list[str]:
    desk.pipe("begun")
    desk.pipe("go")
    return list(desk.program(MEETS))


def begun(desk: Any) -> int:
    """Wait for the command to begin, and return its process id."""
    return int((desk.folder / "begun").read_text())


def let_go(desk: Any, word: str) -> None:
    (desk.folder / "go").write_text(word)


def test_a_worker_that_is_asked_to_stop_finishes_what_it_is_at(desk: Any, meeting: list[str]):
    first, second = desk.exchange.publish("jobs", "1"), desk.exchange.publish("jobs", "2")
    worker = desk.start("--grace", "50s", command=meeting)
    begun(desk)

    os.killpg(worker.pid, signal.SIGINT)  # as a terminal does
    let_go(desk, "done")

    assert worker.wait(30) == STOPPED
    assert desk.reply(first).body == "done"
    assert desk.entry(second).claims == ()


@pytest.mark.parametrize("how", ["--grace=100ms", "--grace=100s"])
def test_a_worker_that_cannot_finish_in_time_hands_back_without_an_attempt_counted(
    how: str, desk: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = desk.exchange.publish("jobs", "x")
    worker = desk.start(how, command=meeting)
    command = begun(desk)

    worker.send_signal(signal.SIGINT)
    if how == "--grace=100s":
        worker.send_signal(signal.SIGTERM)  # the second one means it

    assert worker.wait(30) == STOPPED
    entry = desk.entry(asked)
    assert (entry.delivery.state, entry.delivery.attempts, entry.delivery.available_at) == ("ready", 0, None)
    assert entry.claims[0].error == "the worker was stopped"
    assert gone(command)


def test_a_worker_that_waits_stops_at_once(desk: Any):
    asked = desk.exchange.publish("jobs", "x")
    worker = desk.start(command=["cat"])
    desk.reply(asked)

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(30) == STOPPED
    told = worker.stderr.read()
    assert told.count("\n") == 2
    assert told.endswith("prloom: interrupted\n")


def test_a_worker_that_was_started_deaf_to_interrupts_stays_so(desk: Any):
    asked = desk.exchange.publish("jobs", "x")
    argv = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *desk.argv(command=["cat"])]
    worker = subprocess.Popen(argv, cwd=desk.folder, stderr=subprocess.PIPE, text=True)
    desk.workers.append(worker)
    desk.reply(asked)

    worker.send_signal(signal.SIGINT)

    assert desk.reply(desk.exchange.publish("jobs", "y")).body == "y"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == STOPPED


def test_a_lease_is_renewed_for_as_long_as_the_command_runs(desk: Any):
    asked = desk.exchange.publish("jobs", "x")

    desk.once("--lease", "3s", command=["sh", "-c", "sleep 4; echo done"])

    assert desk.reply(asked).body == "done\n"
    assert len(desk.entry(asked).claims) == 1


def test_a_worker_that_was_stopped_past_its_lease_ends_its_command_and_settles_nothing(
    desk: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = desk.exchange.publish("jobs", "x")
    stopped = desk.start("--lease", "3s", command=meeting)
    command = begun(desk)

    stopped.send_signal(signal.SIGSTOP)
    desk.once(command=["echo", "by another"])
    stopped.send_signal(signal.SIGCONT)

    assert "lost" in stopped.stderr.readline()
    assert gone(command)
    stopped.send_signal(signal.SIGTERM)
    stopped.wait(30)
    replies = [each.body for each in desk.exchange.read() if each.parent_id == asked.id]
    assert replies == ["by another\n"]
    assert [claim.status for claim in desk.entry(asked).claims] == ["expired", "completed"]


def test_a_worker_whose_message_is_cancelled_ends_its_command(
    desk: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = desk.exchange.publish("jobs", "x")
    worker = desk.start("--lease", "3s", command=meeting)
    command = begun(desk)

    desk.exchange.cancel(asked.id)

    assert "cancelled" in worker.stderr.readline()
    assert gone(command)
    assert [each.topic for each in desk.exchange.read()] == ["jobs", "jobs.cancelled"]


def test_a_worker_that_is_killed_takes_its_command_with_it(desk: Any, meeting: list[str], gone: Callable[[int], bool]):
    asked = desk.exchange.publish("jobs", "x")
    worker = desk.start("--lease", "3s", command=meeting)
    command = begun(desk)

    worker.kill()

    assert gone(command)
    desk.once(command=["echo", "by another"])
    assert desk.reply(asked).body == "by another\n"


def test_of_several_workers_one_that_is_killed_is_started_again(desk: Any):
    first = desk.exchange.publish("jobs", "1")
    keeper = desk.start("--concurrency", "2", command=["cat"])
    desk.reply(first)
    before = psutil.Process(keeper.pid).children()

    before[0].kill()
    before[0].wait(30)
    before[1].kill()
    second = desk.exchange.publish("jobs", "2")

    assert desk.reply(second).body == "2"
    keeper.send_signal(signal.SIGTERM)
    assert keeper.wait(30) == STOPPED


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_several_workers_end_with_their_keeper(
    how: signal.Signals, desk: Any, meeting: list[str], gone: Callable[[int], bool]
):
    asked = desk.exchange.publish("jobs", "x")
    keeper = desk.start("--concurrency", "3", "--grace", "100ms", command=meeting)
    command = begun(desk)
    several = psutil.Process(keeper.pid).children()

    keeper.send_signal(how)

    assert keeper.wait(30) == (STOPPED if how == signal.SIGTERM else -how)
    assert len(several) == 3
    assert all(gone(each.pid) for each in several)
    assert gone(command)
    assert desk.entry(asked).delivery.attempts == 0


def test_ten_workers_do_a_thousand_jobs_of_five_milliseconds_each_once(desk: Any):
    asked = desk.exchange.publish_all([drafting.draft("jobs", str(number)) for number in range(1000)])
    keeper = desk.start("--concurrency", "10", command=["sh", "-c", 'read -r n; printf %s "$n"; exec sleep 0.005'])

    told = [keeper.stderr.readline() for _ in asked]
    keeper.send_signal(signal.SIGTERM)
    keeper.wait(30)

    assert [line for line in told if "attempt 1: completed in" not in line] == []
    messages = desk.exchange.read(topic="jobs.completed", limit=2000)
    assert sorted((each.parent_id, each.body) for each in messages) == sorted((each.id, each.body) for each in asked)
    claims = [claim for each in asked for claim in desk.entry(each).claims]
    assert [claim.status for claim in claims] == ["completed"] * 1000
    assert len({claim.worker_instance_id for claim in claims}) == 10


def test_nothing_is_left_of_a_worker_that_has_ended(desk: Any):
    desk.exchange.publish("jobs", "x")

    desk.once(command=["cat"])

    ours = os.getpid()
    left = [each for each in psutil.process_iter() if _names(each, str(desk.folder / "jobs.db")) and each.pid != ours]
    assert psutil.wait_procs(left, timeout=30)[1] == []


def _names(process: psutil.Process, word: str) -> bool:
    try:
        return word in process.cmdline()
    except psutil.Error:
        return False
