from __future__ import annotations

from datetime import timedelta

from prloom.exchange import command_result
from prloom.exchange.claim import Completed, Failed


def test_a_command_that_ended_well_is_completed_with_what_it_printed():
    settlement = command_result.ended("cat", 0, stdout="out", stderr="err", success_topic="s")

    about = {"plugin": "cat", "exit_code": 0, "stdout": "out", "stderr": "err"}
    assert settlement == Completed(body="out", topic="s", metadata=about)


def test_the_body_of_a_failure_is_stderr_else_stdout_else_the_exit_code():
    def body(stdout: str, stderr: str) -> str | None:
        settlement = command_result.ended("cat", 2, stdout=stdout, stderr=stderr)
        assert isinstance(settlement, Failed)
        assert (settlement.error, settlement.retry) == ("command exited with code 2", False)
        return settlement.body

    assert body("out", "err") == "err"
    assert body("out", " \n") == "out"
    assert body("", "") == "command exited with code 2"


def test_a_time_out_says_after_how_long():
    settlement = command_result.timed_out("cat", timedelta(seconds=1.5), stdout="so far", stderr="")

    assert settlement.error == "command timed out after 1.5 seconds"
    assert settlement.metadata == {"plugin": "cat", "exit_code": None, "stdout": "so far", "stderr": ""}


def test_a_command_that_never_ran_is_tried_again():
    assert command_result.never_ran("cat", "no such command").retry


def test_a_long_output_is_cut_in_the_middle_and_says_so():
    text = "a" * 100 + "b" * 100

    cut = command_result.bounded(text, 20)

    assert cut == "a" * 10 + "\n[… 180 characters cut …]\n" + "b" * 10
    assert command_result.bounded("x" * 20, 20) == "x" * 20
