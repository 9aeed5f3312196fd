"""`prloom exchange request`: ask, wait, and exit by the answer."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from prloom.cli.exchange import publish
from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.exchange import Exchange

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[bytes]"]
LONG = timedelta(seconds=60)


def complete(claimed: ClaimedMessage) -> None:
    claimed.complete("answer")


def fail(claimed: ClaimedMessage) -> None:
    claimed.fail("oh", body="answer")


def time_out(claimed: ClaimedMessage) -> None:
    claimed.time_out("answer")


def die(claimed: ClaimedMessage) -> None:
    claimed.fail("answer", retry=True)


def test_the_reply_is_printed_and_the_ids_are_told(exchange: Exchange, start: Start):
    asking = start("request", "jobs", "question", "--success-topic", "answers")

    with next(exchange.claims("jobs", patience=LONG)) as claimed:
        assert claimed.message.body == "question"
        exchange.publish("jobs.completed", "of another conversation")
        claimed.complete("answer", topic="answers")
    out, err = asking.communicate(timeout=60)

    assert (asking.returncode, out) == (0, b"answer")
    assert err.decode() == f"message {claimed.message.id}  conversation {claimed.message.id}\n"


@pytest.mark.parametrize(("settle", "code"), [(complete, 0), (fail, 3), (time_out, 4), (die, 6)])
def test_the_exit_code_is_that_of_the_first_reply_to_this_message(
    settle: Callable[[ClaimedMessage], None], code: int, exchange: Exchange, start: Start
):
    asking = start("request", "jobs", "question", "--max-attempts", "1")

    settle(next(exchange.claims("jobs", patience=LONG)))

    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, out[:6]) == (code, b"answer")


def test_a_cancelled_request_ends_too(exchange: Exchange, start: Start):
    asking = start("request", "jobs", "question")
    assert asking.stderr is not None

    exchange.cancel(asking.stderr.readline().decode().split()[1], "not now")

    assert asking.communicate(timeout=60)[0] == b"not now"
    assert asking.returncode == 7


@pytest.mark.parametrize(("topic", "code"), [("good", 0), ("bad", 3)])
def test_what_a_program_puts_on_the_named_topics_is_a_reply_too(
    topic: str, code: int, exchange: Exchange, start: Start
):
    asking = start("request", "jobs", "question", "--success-topic", "good", "--failure-topic", "bad")
    assert asking.stderr is not None
    asked = asking.stderr.readline().decode().split()[1]

    exchange.publish("elsewhere", "progress", parent=asked)
    exchange.publish(topic, "answer", parent=asked)

    assert asking.communicate(timeout=60)[0] == b"answer"
    assert asking.returncode == code


def test_a_wait_that_ends_says_that_the_work_goes_on_and_how_to_look(run: Run, exchange: Exchange):
    ran = run("request", "jobs", "question", "--wait", "1ms")

    asked = exchange.read()[0]
    assert (ran.code, ran.out) == (5, "")
    assert "no reply yet; the work continues; check it later with" in ran.err
    assert f"`prloom exchange check {asked.id}`" in ran.err
    looked = run(*re.search(r"`prloom exchange (check \S+)`", ran.err)[1].split())  # type: ignore[index]
    assert looked.code == 5


def test_what_says_how_to_look_later_names_the_database_but_no_password(exchange: Exchange):
    asked = exchange.publish("jobs", "question")

    assert f"`prloom exchange check {asked.id} --database 'my jobs.db'`" in publish.how_to_check_later(
        asked, "my jobs.db"
    )
    assert "--database URL`" in publish.how_to_check_later(asked, "postgresql://me:secret@host/jobs")
    assert "secret" not in publish.how_to_check_later(asked, "postgresql://me:secret@host/jobs")


def test_an_interrupted_wait_says_so_too(start: Start):
    asking = start("request", "jobs", "question")
    assert asking.stderr is not None
    asking.stderr.readline()

    asking.send_signal(signal.SIGINT)

    _, err = asking.communicate(timeout=60)
    assert b"the work continues; check it later with" in err
    assert asking.returncode == 130
