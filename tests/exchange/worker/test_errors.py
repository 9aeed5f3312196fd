"""Workers whose exchange fails under them, and what they find where they begin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

UNSTEADY = Path(__file__).with_name("unsteady.py")


@pytest.mark.parametrize(("failure", "errors"), [("claim:busy", 1), ("settle:busy", 1), ("settle:unknown", 0)])
def test_a_store_that_fails_now_and_then_is_tried_again_and_each_job_is_done_once(failure: str, errors: int, jobs: Any):
    first = jobs.exchange.publish("jobs", "1")
    argv = [sys.executable, str(UNSTEADY), str(jobs.folder / "jobs.db"), failure, "--", "tee", "-a", "done"]
    worker = subprocess.Popen(argv, cwd=jobs.folder, stderr=subprocess.PIPE, text=True)
    jobs.workers.append(worker)

    jobs.reply(first)
    second = jobs.exchange.publish("jobs", "2")
    jobs.reply(second)
    worker.send_signal(signal.SIGTERM)

    report = worker.communicate(timeout=60)[1].splitlines()
    assert len([line for line in report if "error: jobs.db: " in line and "retrying in 500 ms" in line]) == errors
    assert (jobs.folder / "done").read_text() == "12"
    assert [len(jobs.entry(each).claims) for each in (first, second)] == [1, 1]


def test_a_worker_leaves_processes_alone_that_were_there_before_it(jobs: Any):
    message = jobs.exchange.publish("jobs", "x")
    jobs.pipe("other")
    code = 'sh -c "echo \\$\\$ > other; exec sleep 600" & exec "$@"'

    worker = subprocess.Popen(
        ["sh", "-c", code, "sh", *jobs.argv("--once", command=["sh", "-c", "sleep 600 & echo done"])],
        cwd=jobs.folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    jobs.workers.append(worker)
    other = int((jobs.folder / "other").read_text())

    assert worker.wait(60) == 0
    assert jobs.reply(message).body == "done\n"
    os.kill(other, signal.SIGKILL)  # raises ProcessLookupError where it is gone
