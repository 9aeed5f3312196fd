"""Workers that are asked to stop, are stopped, lose their claim, or are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from prloom.exchange.message import Message

# Says its id through one pipe, then waits for the other.
MEETS = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("begun", "w").write(str(os.getpid()))
sys.stdout.write(open("go").read())
"""
STOPPED = 130
LEASE = "8s"
"""A worker keeps it though it stands still for ten seconds: it is renewed three times as often as it has to be."""


@pytest.fixture
def meeting(jobs: Any) -> list[str]:
    jobs.pipe("begun")
    jobs.pipe("go")
    return list(jobs.program(MEETS))


def begun(jobs: Any) -> int:
    """Wait for the command to begin, and return its process id."""
    return int((jobs.folder / "begun").read_text())


def let_go(jobs: Any, word: str) -> None:
    (jobs.folder / "go").write_text(word)


def test_a_worker_that_is_to_stop_finishes_its_message(jobs: Any, meeting: list[str]):
    first, second = jobs.exchange.publish("jobs", "1"), jobs.exchange.publish("jobs", "2")
    worker = jobs.start("--grace", "50s", command=meeting)
    begun(jobs)

    os.killpg(worker.pid, signal.SIGINT)  # as a terminal does
    let_go(jobs, "done")

    assert worker.wait(60) == STOPPED
    assert jobs.reply(first).body == "done"
    assert jobs.entry(second).claims == ()


@pytest.mark.parametrize("how", ["--grace=100ms", "--grace=100s"])
def test_a_worker_that_cannot_finish_in_time_releases_its_message_without_counting_the_attempt(
    how: str, jobs: Any, meeting: list[str], gone: Callable[[int], bool], message: Message
):
    worker = jobs.start(how, command=meeting)
    command = begun(jobs)

    worker.send_signal(signal.SIGINT)
    if how == "--grace=100s":
        worker.send_signal(signal.SIGTERM)  # the second one means it

    assert worker.wait(60) == STOPPED
    entry = jobs.entry(message)
    assert (entry.delivery.state, entry.delivery.attempts, entry.delivery.available_at) == ("ready", 0, None)
    assert entry.claims[0].error == "the worker was stopped"
    assert gone(command)


def test_a_worker_that_waits_stops_at_once(jobs: Any, message: Message):
    worker = jobs.start(command=["cat"])
    jobs.reply(message)

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(60) == STOPPED
    report = worker.stderr.read()
    assert report.count("\n") == 2
    assert report.endswith("; other workers get the messages that it has not finished\n")


def test_a_worker_that_was_started_deaf_to_interrupts_stays_so(jobs: Any, message: Message):
    argv = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *jobs.argv(command=["cat"])]
    worker = subprocess.Popen(argv, cwd=jobs.folder, stderr=subprocess.PIPE, text=True)
    jobs.workers.append(worker)
    jobs.reply(message)

    worker.send_signal(signal.SIGINT)

    assert jobs.reply(jobs.exchange.publish("jobs", "y")).body == "y"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == STOPPED


def test_a_lease_is_renewed_for_as_long_as_the_command_runs(jobs: Any, message: Message):
    jobs.once("--lease", LEASE, command=["sh", "-c", "sleep 9; echo done"])

    assert jobs.reply(message).body == "done\n"
    assert len(jobs.entry(message).claims) == 1


def test_a_worker_that_was_stopped_past_its_lease_ends_its_command_and_settles_nothing(
    jobs: Any, meeting: list[str], gone: Callable[[int], bool], message: Message
):
    stopped = jobs.start("--lease", LEASE, command=meeting)
    command = begun(jobs)

    stopped.send_signal(signal.SIGSTOP)
    jobs.once(command=["echo", "by another"])
    stopped.send_signal(signal.SIGCONT)

    assert "lost" in stopped.stderr.readline()
    assert gone(command)
    stopped.send_signal(signal.SIGTERM)
    stopped.wait(60)
    replies = [each.body for each in jobs.exchange.read() if each.parent_id == message.id]
    assert replies == ["by another\n"]
    assert [claim.status for claim in jobs.entry(message).claims] == ["expired", "completed"]


def test_a_worker_whose_message_is_cancelled_ends_its_command(
    jobs: Any, meeting: list[str], gone: Callable[[int], bool], message: Message
):
    worker = jobs.start("--lease", LEASE, command=meeting)
    command = begun(jobs)

    jobs.exchange.cancel(message.id)

    assert "cancelled" in worker.stderr.readline()
    assert gone(command)
    assert [each.topic for each in jobs.exchange.read()] == ["jobs", "jobs.cancelled"]


def test_a_worker_that_is_killed_takes_its_command_with_it(
    jobs: Any, meeting: list[str], gone: Callable[[int], bool], message: Message
):
    worker = jobs.start("--lease", "3s", command=meeting)
    command = begun(jobs)

    worker.kill()

    assert gone(command)
    jobs.once(command=["echo", "by another"])
    assert jobs.reply(message).body == "by another\n"


def workers(keeper: subprocess.Popen[str], count: int) -> list[psutil.Process]:
    """Return the workers of a keeper, which starts one after the other: the first may have worked before the last."""
    while len(found := psutil.Process(keeper.pid).children()) < count:
        assert keeper.poll() is None
    return found


def test_of_several_workers_one_that_is_killed_is_started_again(jobs: Any):
    first = jobs.exchange.publish("jobs", "1")
    keeper = jobs.start("--concurrency", "2", command=["cat"])
    jobs.reply(first)
    before = workers(keeper, 2)

    before[0].kill()
    before[0].wait(60)
    before[1].kill()
    second = jobs.exchange.publish("jobs", "2")

    assert jobs.reply(second).body == "2"
    keeper.send_signal(signal.SIGTERM)
    assert keeper.wait(60) == STOPPED


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_several_workers_end_with_their_keeper(
    how: signal.Signals, jobs: Any, meeting: list[str], gone: Callable[[int], bool], message: Message
):
    keeper = jobs.start("--concurrency", "3", "--grace", "100ms", command=meeting)
    command = begun(jobs)
    several = workers(keeper, 3)

    keeper.send_signal(how)

    assert keeper.wait(60) == (STOPPED if how == signal.SIGTERM else -how)
    assert len(several) == 3
    assert all(gone(each.pid) for each in several)
    assert gone(command)
    assert jobs.entry(message).delivery.attempts == 0


def test_nothing_is_left_of_a_worker_that_has_ended(jobs: Any):
    jobs.exchange.publish("jobs", "x")

    jobs.once(command=["cat"])

    ours = os.getpid()
    left = [each for each in psutil.process_iter() if _names(each, str(jobs.folder / "jobs.db")) and each.pid != ours]
    assert psutil.wait_procs(left, timeout=60)[1] == []


def _names(process: psutil.Process, word: str) -> bool:
    try:
        return word in process.cmdline()
    except psutil.Error:
        return False
