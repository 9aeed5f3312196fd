"""`prloom exchange run`: what it refuses, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

from prloom.cli.exchange import run
from prloom.exchange.exchange import Exchange
from prloom.exchange.worker.worker import MessageProgress, WorkerError

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("jobs",), 2, "Missing argument '-- COMMAND...'"),
        (("jobs", "--once", "--concurrency", "2", "--", "cat"), 2, "--once handles one message"),
        (("jobs", "--timeout", "0s", "--", "cat"), 2, "it is not longer than zero"),
        (("jobs", "--success-topic", "a b", "--", "cat"), 1, "'a b' is not a valid topic"),
        (("jobs", "--failure-topic", "jobs", "--", "cat"), 1, "would work on them endlessly; name other topics"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_is_claimed(
    args: tuple[str, ...], code: int, text: str, run: Run, exchange: Exchange
):
    exchange.publish("jobs", "x")

    ran = run("run", *args)

    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert text in ran.err
    assert exchange.inspect(exchange.read()[0].id).claims == ()


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (MessageProgress("began", "jobs", "m", 2), "jobs m attempt 2: began"),
        (
            MessageProgress("completed", "jobs", "m", 1, 0.5, reply="out"),
            "jobs m attempt 1: completed in 500 ms -> out",
        ),
        (
            MessageProgress("timed_out", "jobs", "m", 1, 61, "late\x1b", "x"),
            r"jobs m attempt 1: timed out after 1 min 1 s: late\x1b -> x",
        ),
        (MessageProgress("handed_back", "jobs", "m", 1, 2), "jobs m attempt 1: handed back after 2 s"),
        (
            MessageProgress("retrying", "jobs", "m", 1, 0.112, "exit code 1", pause=2),
            "jobs m attempt 1: failed after 112 ms; retrying in 2 s: exit code 1",
        ),
        (WorkerError("x.db: disk full", 30), "error: x.db: disk full; retrying in 30 s"),
    ],
)
def test_a_worker_reports_in_one_line_what_became_of_a_message(event: Any, line: str):
    assert click.unstyle(run.line(event)) == line
