"""The lines of `pool.log`, which people read."""

from __future__ import annotations

from datetime import UTC, datetime

from prloom.engine.runs import pool
from prloom.exchange.worker.worker import MessageProgress, WorkerError

AT = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)
RUN = "20260101T120000000Z-worker-0000abcd"


def test_a_run_that_is_begun_is_a_line_with_its_time_its_topic_and_its_id():
    event = MessageProgress("began", "agent.worker", RUN, 1, 0.02)

    assert pool.line(event, AT) == f"2026-01-01T12:00:05.000Z agent.worker {RUN} attempt 1: began"


def test_a_run_that_ended_tells_how_long_it_took_and_where_the_reply_is():
    event = MessageProgress("completed", "agent.worker", RUN, 1, 12.26, reply="agent.worker.completed")

    assert pool.line(event, AT).endswith("attempt 1: completed after 12.3 s; reply on agent.worker.completed")


def test_a_run_that_failed_tells_why_on_one_line_and_when_it_is_tried_again():
    event = MessageProgress("retrying", "agent.triage", RUN, 2, 1.0, why="no\nmodel \x1b[2J", pause=30.0)

    assert pool.line(event, AT).endswith("attempt 2: retrying after 1.0 s; tried again in 30 s: no\\nmodel \\x1b[2J")


def test_an_exchange_that_cannot_be_used_is_an_error_with_the_time_until_the_next_try():
    assert pool.line(WorkerError("the database is locked", 5.0), AT) == (
        "2026-01-01T12:00:05.000Z error: the database is locked; tried again in 5 s"
    )
