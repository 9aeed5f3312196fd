"""`prloom exchange read`: for people, for pipes, for programs, and as messages come."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import terminal_output

from prloom.exchange.exchange import Exchange

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[bytes]"]

NASTY = "\x1b]0;owned\x07\x1b[2Jred\r\nover\u202ewritten"


def test_messages_come_in_the_order_of_their_publication_with_their_heads(run: Run, exchange: Exchange):
    first = exchange.publish("jobs", "one\n", producer="me")
    exchange.publish("jobs", "two", parent=first.id)

    lines = run("read").out.split("\n")

    assert lines[0].startswith(f"{first.id}  jobs  20")
    assert lines[0].endswith("  by me")
    assert lines[1] == "one"
    assert lines[2].endswith(f"  answers {first.id}")
    assert lines[3:] == ["two", ""]


def test_a_topic_a_conversation_and_what_came_after_a_message_can_be_read_alone(run: Run, exchange: Exchange):
    first = exchange.publish("a", "1")
    exchange.publish("b", "2", parent=first.id)
    exchange.publish("a", "3")

    assert run("read", "--topic", "a", "--body").out == "13"
    assert run("read", "--conversation", first.id, "--body").out == "12"
    assert run("read", "--since", first.id, "--body").out == "23"
    assert run("read", "--topic", "nothing").out == ""


def test_however_many_messages_there_are_all_are_read_in_one_document(run: Run, exchange: Exchange):
    for number in range(205):
        exchange.publish("jobs", str(number))

    messages = run("read", "--json").json["messages"]

    assert [each["body"] for each in messages] == [str(number) for number in range(205)]
    assert run("read", "--topic", "nothing", "--json").json == {"messages": []}


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("--topic", "a", "--conversation", "b"), 2, "give --topic or --conversation, not both"),
        (("--topic", "no topic"), 1, "'no topic' is not a valid topic; use letters, digits"),
        (("--since", "nobody"), 1, "there is no message 'nobody' here"),
        (("--since", "nobody", "--follow"), 1, "there is no message 'nobody' here"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(args: tuple[str, ...], code: int, text: str, run: Run):
    ran = run("read", *args)

    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert text in ran.err


def test_into_a_pipe_a_body_is_printed_byte_by_byte(exchange: Exchange, start: Start):
    exchange.publish("jobs", NASTY)

    out, _ = start("read", "--body").communicate(timeout=60)

    assert out == NASTY.encode()


def test_on_a_terminal_nothing_in_a_body_is_obeyed(exchange: Exchange, start: Start):
    exchange.publish("jobs", NASTY)
    ours, theirs = pty.openpty()
    reading = start("read", stdout=theirs)
    os.close(theirs)

    shown = terminal_output.read_all(ours)
    reading.wait(60)

    assert b"\x1b]0" not in shown
    assert b"\x07" not in shown
    assert rb"\x1b]0;owned\x07\x1b[2Jred" in shown
    assert rb"over\u202ewritten" in shown


def test_followed_messages_come_as_they_are_published_each_on_a_line(exchange: Exchange, start: Start):
    exchange.publish("jobs", "before")
    following = start("read", "--follow", "--json")
    assert following.stdout is not None

    read = [json.loads(following.stdout.readline())["body"]]
    for body in ("one\ntwo", "three"):
        exchange.publish("jobs", body)
        read.append(json.loads(following.stdout.readline())["body"])
    following.send_signal(signal.SIGINT)

    assert read == ["before", "one\ntwo", "three"]
    assert following.wait(60) == 130


def test_a_reader_that_has_seen_enough_ends_it_without_a_word(exchange: Exchange, start: Start):
    for _ in range(20):
        exchange.publish("jobs", "x" * 100_000)
    reading = start("read")
    assert reading.stdout is not None
    assert reading.stderr is not None

    reading.stdout.read(10)
    reading.stdout.close()

    assert reading.stderr.read() == b""
    assert reading.wait(60) == 1


def test_a_terminal_on_stdin_is_no_body_and_nobody_waits_for_it(start: Start):
    ours, theirs = pty.openpty()

    _, err = start("publish", "jobs", stdin=theirs).communicate(timeout=60)

    os.close(ours)
    os.close(theirs)
    assert b"no body; give it as an argument, or pipe it in: `\xe2\x80\xa6 | prloom exchange publish TOPIC`" in err
