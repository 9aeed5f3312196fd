"""How a command's end settles its claim."""

from __future__ import annotations

from datetime import timedelta

import pytest

from prloom.exchange.claim import Completed, Failed, TimedOut
from prloom.exchange.worker import command_job
from prloom.exchange.worker.command_job import JobEnd
from prloom.exchange.worker.config import WorkerConfig
from prloom.exchange.worker.job import JobLost

CONFIG = WorkerConfig(topics=("jobs",), command=("cat",), success_topic="s", timeout=timedelta(seconds=1.5))


def test_a_command_that_ended_well_is_completed_with_what_it_printed():
    settlement = command_job.settlement(JobEnd("exit", 0, stdout="out", stderr="err"), CONFIG)

    about = {"plugin": "cat", "exit_code": 0, "stdout": "out", "stderr": "err"}
    assert settlement == Completed(body="out", topic="s", metadata=about)


@pytest.mark.parametrize(
    ("stdout", "stderr", "body"),
    [("out", "err", "err"), ("out", " \n", "out"), ("", "", "command exited with code 2")],
)
def test_the_body_of_a_failure_is_stderr_else_stdout_else_the_exit_code(stdout: str, stderr: str, body: str):
    settlement = command_job.settlement(JobEnd("exit", 2, stdout=stdout, stderr=stderr), CONFIG)

    assert isinstance(settlement, Failed)
    assert (settlement.error, settlement.retry) == ("command exited with code 2", False)
    assert settlement.body == body


def test_a_time_out_says_after_how_long():
    settlement = command_job.settlement(JobEnd("timeout", -9, stdout="so far", stderr=""), CONFIG)

    assert isinstance(settlement, TimedOut)
    assert settlement.error == "command timed out after 1.5 seconds"
    assert settlement.metadata == {"plugin": "cat", "exit_code": None, "stdout": "so far", "stderr": ""}


def test_a_lost_claim_is_not_settled():
    lost = JobEnd("lost", 0, stdout="", stderr="", why="the lease ran out")

    assert command_job.settlement(lost, CONFIG) == JobLost("the lease ran out")


def test_a_command_that_never_ran_is_tried_again():
    settlement = command_job.never_ran(CONFIG, FileNotFoundError(2, "No such file or directory"))

    assert settlement.retry
    assert settlement.error == "cat could not be started: No such file or directory"
