"""Commands of every kind under the real worker host: fed, read, bounded, ended, and settled."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from prloom.exchange.message import Message

HUNDRED_MB = 100_000_000

# Starts a program in a session of its own with nothing in its environment, orphans it, and says its id.
ESCAPES = """
import os, signal, sys, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        code = "import os, sys, time; os.write(int(sys.argv[1]), b'.'); os.close(int(sys.argv[1])); time.sleep(600)"
        os.set_inheritable(write, True)
        open("escaped", "w").write(str(os.getpid()))
        os.execve(sys.executable, [sys.executable, "-S", "-c", code, str(write)], {})
    os._exit(0)
os.close(write)
os.wait()
os.read(read, 1)
"""


LIMITS = (1, 10, 30)
"""How many seconds a program may take which is to take too long: more where a busy machine did not let it begin."""

# Runs a program and prints the most memory that it had, in KiB. The system counts the memory of the process that starts
# a program as that program's own, and the process of the tests may have any size.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def test_what_a_command_prints_is_the_reply_and_belongs_to_the_conversation(jobs: Any):
    first = jobs.exchange.publish("other", "before")
    message = jobs.exchange.publish("jobs", "hello", parent=first.id)

    report = jobs.once("--success-topic", "shouted", command=["tr", "a-z", "A-Z"])

    reply = jobs.reply(message)
    assert (reply.topic, reply.body, reply.parent_id) == ("shouted", "HELLO", message.id)
    assert reply.conversation_id == first.id
    about = {"status": "completed", "plugin": "tr", "exit_code": 0, "stdout": "HELLO", "stderr": ""}
    assert reply.metadata == about
    assert report.count("\n") == 1
    assert f"jobs {message.id} attempt 1: completed in" in report


def test_a_commands_own_failure_is_final_and_its_reply_says_what_it_said(jobs: Any, message: Message):
    jobs.once("--failure-topic", "broken", command=["sh", "-c", "echo out; echo err >&2; exit 7"], code=3)

    reply, entry = jobs.reply(message), jobs.entry(message)
    assert (reply.topic, reply.body, reply.metadata["exit_code"]) == ("broken", "err\n", 7)
    assert (entry.delivery.ending, entry.claims[0].error) == ("failed", "command exited with code 7")


def test_a_worker_with_retry_failures_tries_a_failed_message_again(jobs: Any, message: Message):
    jobs.once("--retry-failures", command=["sh", "-c", "exit $((2 - PRLOOM_ATTEMPT))"], code=1)
    jobs.once("--retry-failures", command=["sh", "-c", "exit $((2 - PRLOOM_ATTEMPT))"])

    assert [claim.status for claim in jobs.entry(message).claims] == ["failed", "completed"]


def test_a_command_that_is_missing_is_tried_again_until_the_message_is_dead(jobs: Any):
    message = jobs.exchange.publish("jobs", "x", max_attempts=2)

    report = jobs.once(command=["no-such-program"], code=1)
    waits = jobs.entry(message)
    jobs.once(command=["no-such-program"], code=6)

    assert re.search(r"failed after \S+ m?s; retrying in \S+ ms: ", report)
    assert "no-such-program could not be started: No such file or directory" in report
    assert waits.delivery.state == "ready"
    assert waits.delivery.available_at is not None
    assert jobs.entry(message).delivery.state == "dead"
    assert jobs.reply(message).topic == "jobs.dead"


def test_of_a_command_that_took_too_long_nothing_runs_any_more_when_its_reply_is_there(jobs: Any):
    program = jobs.program(
        ESCAPES + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('half', flush=True)\ntime.sleep(600)\n"
    )

    for limit in LIMITS:
        message = jobs.exchange.publish("jobs", "x")
        worker = jobs.start("--timeout", f"{limit}s", command=program)
        reply = jobs.reply(message)

        pid, runs = escaped(jobs.folder), False
        with suppress(psutil.NoSuchProcess):
            if pid:
                left = psutil.Process(pid)
                runs = left.status() != psutil.STATUS_ZOMBIE
                left.kill()
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
        if pid and reply.metadata["stdout"]:
            break

    assert pid
    assert (reply.topic, runs) == ("jobs.timed_out", False)
    assert reply.body == f"command timed out after {limit} seconds"
    assert (reply.metadata["status"], reply.metadata["stdout"]) == ("timed_out", "half\n")
    (claim,) = jobs.entry(message).claims
    assert claim.completed_at - claim.claimed_at < timedelta(seconds=limit + 60)


def escaped(folder: Path) -> int:
    """Return the id of the program that escaped; 0 where the time was over before."""
    with suppress(FileNotFoundError):
        return int((folder / "escaped").read_text() or 0)
    return 0


def test_what_a_command_leaves_running_is_ended_before_the_reply_is_there(
    jobs: Any, gone: Callable[[int], bool], message: Message
):
    jobs.once("--timeout", "50s", command=jobs.program(ESCAPES + "print('done')\n"))

    assert jobs.reply(message).body == "done\n"
    assert gone(int((jobs.folder / "escaped").read_text()))


def test_a_hundred_megabytes_go_in_and_come_out_whole(jobs: Any):
    body = "0123456789abcde\n" * (HUNDRED_MB // 16)
    message = jobs.exchange.publish("jobs", body)

    jobs.once("--timeout", "50s", command=["cat"])

    reply = jobs.reply(message)
    assert reply.body == body
    assert len(reply.metadata["stdout"]) < 17_000
    assert "characters cut" in reply.metadata["stdout"]


@pytest.mark.parametrize(("command", "limit", "code"), [(["sleep", "600"], "1s", 4), (["true"], "60s", 0)])
def test_a_command_that_never_reads_neither_hangs_nor_escapes_its_time(
    command: list[str], limit: str, code: int, jobs: Any
):
    jobs.exchange.publish("jobs", "x" * 20_000_000)

    jobs.once("--timeout", limit, command=command, code=code)


def test_a_command_that_floods_does_not_escape_its_time_nor_fill_the_memory(jobs: Any, message: Message):
    worker = jobs.argv("--once", "--timeout", "2s", command=["sh", "-c", "yes & exec yes >&2"])

    measured = subprocess.run([*jobs.program(MEASURE), *worker], cwd=jobs.folder, stdout=subprocess.PIPE, check=False)

    assert measured.returncode == 4
    assert int(measured.stdout) < 400 * 1024
    assert len(jobs.reply(message).metadata["stderr"]) < 17_000


def test_what_is_no_utf_8_is_replaced(jobs: Any, message: Message):
    jobs.once(command=["printf", r"a\377b\0c"])

    assert jobs.reply(message).body == "a\ufffdb\0c"
