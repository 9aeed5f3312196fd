"""P1 to P3 whatever call of the system, or request to GitHub, ends badly.

A sample of what `make crash-matrix` tries, which is another one in each run; what fails names its place.
PRLOOM_CRASHES=all tries every place (ten minutes), and PRLOOM_CRASH_TURN=N the sample of turn N once more.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from typing import Any

import pytest

ALL = os.environ.get("PRLOOM_CRASHES") == "all"
TURN = os.environ.get("PRLOOM_CRASH_TURN") or str(random.SystemRandom().randrange(1000))
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


Broken = Callable[..., Any]


@pytest.fixture
def broken(ran: Callable[..., Any]) -> Broken:
    """Break a place of each call, or of each protocol, by each fault, or all, and return the report.

    Nothing may be wrong then.
    """

    def run(kind: str, *args: str, of: str = "call") -> Any:
        if ALL:
            sampled: tuple[str, ...] = ()
        else:
            sampled = ("--each", "1", "--of", of, "--turn", TURN)
        report = ran("crash_matrix.py", kind, "--jobs", "1", *sampled, *args, hours=1)
        assert report["wrong"] == [], f"turn {TURN}"
        return report

    return run


def protocols(report: Any) -> set[str]:
    return {row.partition("|")[0] for row, *_ in report["rows"]}


@pytest.mark.timeout(3600 if ALL else 600)
def test_p1_p2_p3_killed_before_any_call_or_in_any_write_an_event_ends_in_one_state_with_each_reply_once(
    broken: Broken,
):
    report = broken("once", "--fault", "kill", "--fault", "torn")

    assert len([row for row in report["rows"] if row[1] == "kill"]) > 50
    assert len([row for row in report["rows"] if row[1] == "torn"]) >= 10
    assert protocols(report) == PROTOCOLS


@pytest.mark.timeout(3600 if ALL else 600)
def test_p1_p2_p3_whatever_call_fails_nothing_is_lost_and_nothing_is_done_twice(broken: Broken):
    report = broken("once", "--fault", "EIO", "--fault", "short", of="protocol")

    assert {fault for _, fault, *_ in report["rows"]} == {"EIO", "short"}
    assert len(protocols(report)) >= len(PROTOCOLS) - 1


@pytest.mark.timeout(3600 if ALL else 600)
@pytest.mark.parametrize("kind", ["twice", "power"])
def test_p1_p2_p3_broken_while_it_is_repaired_or_by_a_power_cut_nothing_is_lost_either(kind: str, broken: Broken):
    report = broken(kind, of="protocol")

    assert protocols(report) == PROTOCOLS


@pytest.mark.timeout(600)
def test_p9_what_is_locked_is_locked_for_all_others(ran: Callable[..., Any]):
    report = ran("crash_matrix.py", "once", "--protocol", "locks", "--jobs", "1")

    assert report["cells"] == 1
    assert report["wrong"] == []


@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_faults_that_the_system_itself_causes_make_no_difference(ran: Callable[..., Any]):
    faults = ("--fault", "kill", "--fault", "EIO")
    place = ("--story", "life", "--protocol", "append a batch")

    report = ran("crash_matrix.py", "traced", "--each", "1", "--jobs", "1", *place, *faults)

    assert report["wrong"] == []
    assert report["cells"] in {0, 4}  # none where strace may not trace
