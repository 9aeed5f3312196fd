"""Commands of every kind under the real worker host: fed, read, bounded, ended, and settled."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

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


def test_what_a_command_prints_is_the_reply_and_belongs_to_the_conversation(runtime: Any):
    first = runtime.exchange.publish("other", "before")
    asked = runtime.exchange.publish("jobs", "hello", parent=first.id)

    told = runtime.once("--success-topic", "shouted", command=["tr", "a-z", "A-Z"])

    reply = runtime.reply(asked)
    assert (reply.topic, reply.body, reply.parent_id) == ("shouted", "HELLO", asked.id)
    assert reply.conversation_id == first.id
    about = {"status": "completed", "plugin": "tr", "exit_code": 0, "stdout": "HELLO", "stderr": ""}
    assert reply.metadata == about
    assert told.count("\n") == 1
    assert f"jobs {asked.id} attempt 1: completed in" in told


@pytest.mark.parametrize(
    ("script", "body"),
    [
        ("echo out; echo err >&2; exit 7", "err\n"),
        ("echo out; exit 7", "out\n"),
        ("echo ' ' >&2; exit 7", "command exited with code 7"),
        ("exit 7", "command exited with code 7"),
    ],
)
def test_a_commands_own_failure_is_final_and_its_reply_says_what_it_said(script: str, body: str, runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once("--failure-topic", "broken", command=["sh", "-c", script], code=3)

    reply, entry = runtime.reply(asked), runtime.entry(asked)
    assert (reply.topic, reply.body, reply.metadata["exit_code"]) == ("broken", body, 7)
    assert (entry.delivery.ending, entry.claims[0].error) == ("failed", "command exited with code 7")


def test_a_worker_that_is_told_so_tries_a_failed_message_again(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once("--retry-failures", command=["sh", "-c", "exit $((2 - PRLOOM_ATTEMPT))"], code=1)
    runtime.once("--retry-failures", command=["sh", "-c", "exit $((2 - PRLOOM_ATTEMPT))"])

    assert [claim.status for claim in runtime.entry(asked).claims] == ["failed", "completed"]


def test_a_command_that_is_missing_is_tried_again_until_the_message_is_dead(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x", max_attempts=2)

    told = runtime.once(command=["no-such-program"], code=1)
    waits = runtime.entry(asked)
    runtime.once(command=["no-such-program"], code=6)

    assert re.search(r"failed after \S+ m?s; retrying in \S+ ms: ", told)
    assert "no-such-program could not be started: No such file or directory" in told
    assert waits.delivery.state == "ready"
    assert waits.delivery.available_at is not None
    assert runtime.entry(asked).delivery.state == "dead"
    assert runtime.reply(asked).topic == "jobs.dead"


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(runtime: Any, gone: Callable[[int], bool]):
    asked = runtime.exchange.publish("jobs", "x")
    program = runtime.program(
        ESCAPES + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('half', flush=True)\ntime.sleep(600)\n"
    )

    runtime.once("--timeout", "1s", command=program, code=4)

    reply = runtime.reply(asked)
    assert (reply.topic, reply.body) == ("jobs.timed_out", "command timed out after 1 seconds")
    assert (reply.metadata["status"], reply.metadata["stdout"]) == ("timed_out", "half\n")
    (claim,) = runtime.entry(asked).claims
    assert claim.completed_at - claim.claimed_at < timedelta(seconds=20)
    assert gone(int((runtime.folder / "escaped").read_text()))


def test_of_a_command_that_took_too_long_nothing_runs_any_more_when_its_reply_is_there(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start("--timeout", "1s", command=runtime.program(ESCAPES + "time.sleep(600)\n"))

    reply = runtime.reply(asked)

    runs = False
    with suppress(psutil.NoSuchProcess):
        left = psutil.Process(int((runtime.folder / "escaped").read_text()))
        runs = left.status() != psutil.STATUS_ZOMBIE
        left.kill()
    worker.send_signal(signal.SIGTERM)
    worker.wait(30)
    assert (reply.topic, runs) == ("jobs.timed_out", False)


def test_what_a_command_leaves_running_is_ended_before_the_reply_is_there(runtime: Any, gone: Callable[[int], bool]):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once("--timeout", "50s", command=runtime.program(ESCAPES + "print('done')\n"))

    assert runtime.reply(asked).body == "done\n"
    assert gone(int((runtime.folder / "escaped").read_text()))


def test_a_background_job_that_holds_the_pipes_holds_up_nothing(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once("--timeout", "50s", command=["sh", "-c", "sleep 600 & echo done"])

    assert runtime.reply(asked).body == "done\n"


def test_a_hundred_megabytes_go_in_and_come_out_whole(runtime: Any):
    body = "0123456789abcde\n" * (HUNDRED_MB // 16)
    asked = runtime.exchange.publish("jobs", body)

    runtime.once("--timeout", "50s", command=["cat"])

    reply = runtime.reply(asked)
    assert reply.body == body
    assert len(reply.metadata["stdout"]) < 17_000
    assert "characters cut" in reply.metadata["stdout"]


@pytest.mark.parametrize(("command", "code"), [(["sleep", "600"], 4), (["true"], 0)])
def test_a_command_that_never_reads_neither_hangs_nor_escapes_its_time(command: list[str], code: int, runtime: Any):
    runtime.exchange.publish("jobs", "x" * 20_000_000)

    runtime.once("--timeout", "1s", command=command, code=code)


def test_a_command_that_floods_does_not_escape_its_time_nor_fill_the_memory(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")
    worker = runtime.start("--once", "--timeout", "2s", command=["sh", "-c", "yes & exec yes >&2"])

    _, status, used = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)

    assert worker.returncode == 4
    assert used.ru_maxrss < 700 * 1024
    assert len(runtime.reply(asked).metadata["stderr"]) < 17_000


def test_what_is_no_utf_8_is_replaced(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x")

    runtime.once(command=["printf", r"a\377b\0c"])

    assert runtime.reply(asked).body == "a\ufffdb\0c"


def test_a_command_knows_its_message_and_where_to_publish_more(runtime: Any):
    asked = runtime.exchange.publish("jobs", "x", metadata={"pr-number": 7, "draft": False, "who": "a\0b"})
    script = (
        'echo "$PRLOOM_MESSAGE_ID $PRLOOM_TOPIC $PRLOOM_CONVERSATION_ID $PRLOOM_ATTEMPT $HERITAGE'
        ' $PRLOOM_META_PR_NUMBER $PRLOOM_META_DRAFT $PRLOOM_META_WHO [$PRLOOM_META_OLD] $PRLOOM_EXCHANGE"'
    )

    runtime.once(command=["env", "HERITAGE=yes", "sh", "-c", script])

    here = Path(runtime.folder, "jobs.db")
    assert runtime.reply(asked).body == f"{asked.id} jobs {asked.id} 1 yes 7 false a\ufffdb [] {here}\n"
