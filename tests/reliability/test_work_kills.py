"""A plan's work, killed before anything that it changes, and killed again while that is put right.

A sample of all kills; PRLOOM_WORK_KILLS=all tries every one of them, which takes an hour.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

STEPS = ("agent", "decision", "git commit-tree", "git push", "git update-ref")
"""What the work comes to outside the files of prloom, and the decisions between that."""
ALL = os.environ.get("PRLOOM_WORK_KILLS") == "all"


def kills(ran: Callable[..., Any], kind: str, *protocols: str, each: int = 1) -> Any:
    """Kill before some calls of each kind of these protocols, or before every call, and return the report."""
    limits = [part for name in protocols for part in ("--protocol", name)] + ["--each", str(each)]
    return ran("crash_matrix.py", kind, "--story", "work", "--jobs", "1", *([] if ALL else limits), hours=2)


@pytest.mark.timeout(7200)
def test_killed_before_any_step_a_plans_work_comes_to_one_commit_one_push_and_one_reply(ran: Callable[..., Any]):
    report = kills(ran, "once", *STEPS)

    assert report["wrong"] == []
    assert {row.partition("|")[0] for row, *_ in report["rows"]} >= set(STEPS)


@pytest.mark.timeout(7200)
def test_killed_again_while_it_recovers_a_plans_work_is_neither_lost_nor_done_twice(ran: Callable[..., Any]):
    report = kills(ran, "twice", "agent", "git push", "git update-ref")

    assert report["wrong"] == []
    assert report["cells"] >= 3


@pytest.mark.skipif(ALL, reason="it is among all kills")
@pytest.mark.timeout(600)
def test_killed_while_the_worktree_is_moved_to_what_others_pushed_nothing_of_theirs_is_taken_away(
    ran: Callable[..., Any],
):
    report = kills(ran, "once", "git symbolic-ref", each=2)

    assert report["wrong"] == []
    assert report["cells"] >= 2
