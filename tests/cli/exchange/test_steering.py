"""`prloom exchange cancel`, `retry`, `prune` and `notify`."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prloom.exchange.exchange import Exchange

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[bytes]"]


def done(exchange: Exchange, topic: str = "jobs") -> str:
    """Publish a message, have it worked on, and return its id."""
    asked = exchange.publish(topic, "x", track=True)
    claimed = exchange.claim(topic)
    claimed.complete("done")
    return asked.id


def test_a_cancelled_message_ends_and_its_reason_is_published(run: Run, exchange: Exchange):
    asked = exchange.publish("jobs", "x")

    ran = run("cancel", asked.id, "--reason", "asked twice")

    assert exchange.message(ran.out.strip()).body == "asked twice"
    assert exchange.inspect(asked.id).delivery.ending == "cancelled"


def test_a_message_that_failed_can_be_tried_again(run: Run, exchange: Exchange):
    asked = exchange.publish("jobs", "x")
    exchange.cancel(asked.id)

    ran = run("retry", asked.id)

    assert ran.out == f"{asked.id} is ready again on jobs.\n"
    assert exchange.inspect(asked.id).delivery.state == "ready"


def test_only_what_ended_long_ago_is_pruned(run: Run, exchange: Exchange):
    done(exchange)
    waits = exchange.publish("others", "x")

    assert run("prune", "--older-than", "1h").out == "0 messages removed.\n"
    assert run("prune", "--older-than", "1ms").out == "2 messages removed.\n"
    assert [each.id for each in exchange.read()] == [waits.id]


def test_the_end_of_what_was_published_is_told_once(run: Run, exchange: Exchange):
    asked = run("publish", "jobs", "x").out.strip()
    run("publish", "jobs", "y", "--no-track")
    before = run("notify", "--once")
    for _ in range(2):
        claimed = exchange.claim("jobs")
        claimed.fail("broken")

    told, again = run("notify", "--once"), run("notify", "--once")

    assert (before.code, before.err) == (0, "")
    assert (told.code, told.out, told.err) == (0, "", f"{asked}  failure\n")
    assert (again.code, again.err) == (0, "")


def test_a_conversation_that_is_named_is_tracked_from_then_on(run: Run, exchange: Exchange):
    asked = exchange.publish("jobs", "x")
    run("notify", asked.id, "--once")
    exchange.cancel(asked.id)

    assert run("notify", "--once").err == f"{asked.id}  cancelled\n"


def test_a_command_is_told_on_its_stdin_and_in_its_environment(run: Run, exchange: Exchange, tmp_path: Path):
    asked = done(exchange)
    program = tmp_path / "tell.py"
    program.write_text(
        "import os, sys\nopen(sys.argv[1], 'w').write(sys.stdin.read() + os.environ['PRLOOM_CONVERSATION_ID'])\n"
    )
    where = tmp_path / "a file"

    ran = run("notify", "--once", "--command", shlex.join([sys.executable, str(program), str(where)]))

    about, _, name = where.read_text().rpartition("}")
    assert (ran.code, name) == (0, asked)
    assert json.loads(about + "}") == {"conversationId": asked, "outcome": "success"}
    assert run("notify", "--once").err == ""


@pytest.mark.parametrize(
    ("command", "why"),
    [("false", "exit code 1"), ("no-such-program", "[Errno 2] No such file or directory: 'no-such-program'")],
)
def test_what_a_command_did_not_tell_is_not_taken_for_told(command: str, why: str, run: Run, exchange: Exchange):
    asked = done(exchange)

    ran = run("notify", "--once", "--command", command)

    assert (ran.code, ran.err) == (1, f"prloom: {command} failed for conversation {asked}: {why}\n")
    assert exchange.store.availability(()).ready is False


@pytest.mark.parametrize("line", ["", "'"])
def test_a_command_that_names_no_program_is_refused(line: str, run: Run):
    assert run("notify", "--once", "--command", line).code == 2


def test_a_notifier_that_goes_on_tells_of_each_end_as_it_comes(exchange: Exchange, start: Start):
    notifying = start("notify")
    assert notifying.stderr is not None
    told = []

    asked = [done(exchange), done(exchange)]
    told += [notifying.stderr.readline().decode() for _ in asked]
    asked.append(done(exchange))
    told.append(notifying.stderr.readline().decode())
    notifying.send_signal(signal.SIGINT)

    assert sorted(told) == sorted(f"{each}  success\n" for each in asked)
    assert notifying.wait(60) == 130
