"""P1 to P3 whatever call of the system, or request to GitHub, ends badly.

Every kill, in one place each, and a sample of what else `make crash-matrix` tries.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

PARTS = 4
PROTOCOLS = {
    "GitHub request",
    "append a batch",
    "control request",
    "cursor",
    "decision",
    "init",
    "plan and status",
    "plugin state",
    "projection",
    "receipt",
    "rotation",
    "run folder",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_p1_p2_p3_killed_before_any_call_an_event_ends_in_one_state_with_each_reply_once(
    part: int, ran: Callable[..., Any]
):
    report = ran("crash_matrix.py", "once", "--jobs", "1", "--fault", "kill", "--part", str(part), str(PARTS))

    assert report["wrong"] == []
    assert report["cells"] > 400 // PARTS
    assert {row.partition("|")[0] for row, *_ in report["rows"]} >= PROTOCOLS - {"init"}


@pytest.mark.timeout(600)
def test_p1_p2_p3_killed_in_the_middle_of_any_write_nothing_is_lost_and_nothing_is_done_twice(ran: Callable[..., Any]):
    report = ran("crash_matrix.py", "once", "--story", "life", "--jobs", "1", "--fault", "torn")

    assert report["wrong"] == []
    assert report["cells"] > 50


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", ["EIO", "short"])
def test_p1_p2_p3_whatever_call_fails_nothing_is_lost_and_nothing_is_done_twice(fault: str, ran: Callable[..., Any]):
    report = ran("crash_matrix.py", "once", "--each", "1", "--jobs", "1", "--fault", fault)

    assert report["wrong"] == []
    assert len({row.partition("|")[0] for row, *_ in report["rows"]}) >= len(PROTOCOLS) - 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["twice", "power"])
def test_p1_p2_p3_broken_while_it_is_repaired_or_by_a_power_cut_nothing_is_lost_either(
    kind: str, ran: Callable[..., Any]
):
    report = ran("crash_matrix.py", kind, "--each", "3", "--jobs", "1")

    assert report["wrong"] == []
    assert {row.partition("|")[0] for row, *_ in report["rows"]} == PROTOCOLS


@pytest.mark.timeout(600)
def test_p9_what_is_locked_is_locked_for_all_others(ran: Callable[..., Any]):
    report = ran("crash_matrix.py", "once", "--protocol", "locks", "--jobs", "1")

    assert report["cells"] == 1
    assert report["wrong"] == []


@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_faults_that_the_system_itself_causes_make_no_difference(ran: Callable[..., Any]):
    faults = ("--fault", "kill", "--fault", "EIO")

    report = ran("crash_matrix.py", "traced", "--each", "1", "--jobs", "1", "--protocol", "cursor", *faults)

    assert report["wrong"] == []
