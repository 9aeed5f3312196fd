"""P1 to P3 under `kill -9` of the real command; PRLOOM_KILL_ROUNDS says how often, PRLOOM_KILL_SEED from which seed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

ROUNDS = int(os.environ.get("PRLOOM_KILL_ROUNDS", "4"))
SEED = os.environ.get("PRLOOM_KILL_SEED")
LIMIT = 600 + 30 * ROUNDS
"""Seconds, of which a busy machine needs a part: each round starts the command, and GitHub takes a write a second."""


@pytest.mark.timeout(LIMIT + 60)
def test_p1_p2_p3_killed_again_and_again_at_any_moment_the_dispatcher_loses_nothing(ran: Callable[..., Any]):
    seed = () if SEED is None else ("--seed", SEED)

    report = ran("kills.py", "--rounds", str(ROUNDS), *seed, hours=LIMIT / 3600)

    print(f"seed {report['seed']}: {report['rounds']} rounds, {report['events']} events")
    assert report["wrong"] == [], f"seed {report['seed']}"
    assert report["events"] >= report["rounds"]
    assert report["on GitHub"] > 0
    assert report["strangers"] > 0
