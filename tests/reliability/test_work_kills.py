"""A plan's work and its pull request, killed before anything that they change, and again while that is put right.

A sample of all kills, which is another one in each run: what fails names its place, and PRLOOM_CRASH_TURN=N tries the
sample of turn N once more. PRLOOM_WORK_KILLS=all tries every one of them, which takes an hour.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

STEPS = ("agent", "decision", "git commit-tree", "git push", "git read-tree", "git update-ref")
"""What the work comes to outside the files of prloom, and the decisions between that; the worktree is moved to what
others pushed by `git read-tree`."""
TURN = os.environ.get("PRLOOM_CRASH_TURN") or str(random.SystemRandom().randrange(1000))
ALL = os.environ.get("PRLOOM_WORK_KILLS") == "all"


def kills(ran: Callable[..., Any], kind: str, *protocols: str) -> Any:
    """Kill before one call of each of these protocols, or before every call, and return the report."""
    limits = [part for name in protocols for part in ("--protocol", name)]
    limits += ["--each", "1", "--of", "protocol", "--turn", TURN]
    return ran("crash_matrix.py", kind, "--story", "work", "--jobs", "1", *([] if ALL else limits), hours=2)


@pytest.mark.timeout(7200)
def test_killed_before_any_step_a_plans_work_comes_to_one_commit_one_push_and_one_reply(ran: Callable[..., Any]):
    report = kills(ran, "once", *STEPS)

    assert report["wrong"] == [], f"turn {TURN}"
    assert {row.partition("|")[0] for row, *_ in report["rows"]} >= set(STEPS)


@pytest.mark.timeout(7200)
def test_killed_again_while_it_recovers_a_plans_work_is_neither_lost_nor_done_twice(ran: Callable[..., Any]):
    report = kills(ran, "twice", "git push", "git update-ref")

    assert report["wrong"] == [], f"turn {TURN}"
    assert report["cells"] >= 2


@pytest.mark.timeout(1800)
def test_killed_before_the_answer_to_a_request_comes_a_pull_request_is_opened_once_and_a_comment_answered_once(
    ran: Callable[..., Any],
):
    answers = () if ALL else ("--fault", "kill", "--each", "1", "--part", "1", "2")
    report = ran("crash_matrix.py", "once", "--story", "pull", "--jobs", "1", *answers, hours=1 / 2)

    assert report["wrong"] == []
    asked = {row.partition("|answer ")[2] for row, *_ in report["rows"]}
    assert asked >= {"open", "describe", "ready", "RequestReviewers", "Comment", "ResolveThread"}
