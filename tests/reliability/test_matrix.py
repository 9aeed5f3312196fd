"""P1 to P3 whatever call of the system ends badly: a sample of what `make crash-matrix` tries."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

PROTOCOLS = {
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
@pytest.mark.parametrize("fault", ["kill", "EIO", "short"])
def test_whatever_call_ends_badly_nothing_is_lost_and_nothing_is_done_twice(fault: str, ran: Callable[..., Any]):
    faults = ("--fault", "short", "--fault", "torn") if fault == "short" else ("--fault", fault)

    report = ran("crash_matrix.py", "once", "--each", "1", "--jobs", "1", *faults)

    assert report["wrong"] == []
    assert {row.partition("|")[0] for row, *_ in report["rows"]} >= PROTOCOLS


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["twice", "power"])
def test_broken_while_it_is_mended_or_by_a_power_cut_nothing_is_lost_either(kind: str, ran: Callable[..., Any]):
    report = ran("crash_matrix.py", kind, "--each", "1", "--jobs", "1")

    assert report["wrong"] == []
    assert {row.partition("|")[0] for row, *_ in report["rows"]} == PROTOCOLS


@pytest.mark.timeout(600)
def test_nobody_has_what_somebody_else_has_locked(ran: Callable[..., Any]):
    report = ran("crash_matrix.py", "once", "--protocol", "locks", "--jobs", "1")

    assert report["cells"] == 1
    assert report["wrong"] == []


@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_what_the_system_itself_breaks_is_no_different(ran: Callable[..., Any]):
    faults = ("--fault", "kill", "--fault", "EIO")

    report = ran("crash_matrix.py", "traced", "--each", "1", "--jobs", "1", "--protocol", "cursor", *faults)

    assert report["wrong"] == []
