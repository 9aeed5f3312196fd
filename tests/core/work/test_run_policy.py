"""A worker machine does no more than its own operator allows, whatever a message says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from prloom.core.work import run_policy
from prloom.core.work.run_policy import MachinePolicy, RequestedLimits, RequestedRun, RunRefused

LIMITS = RequestedLimits(wall_seconds=600.0, silence_seconds=60.0, output_bytes=1000, stderr_bytes=100)
POLICY = MachinePolicy(
    repository="https://example.org/ann/app.git",
    stages=("worker", "triage"),
    agents=("claude", "codex"),
    works=True,
    limits=LIMITS,
)
ASKED = RequestedRun(
    run="20261121T201532299Z-worker-1a2b3c4d",
    repository="git@example.org:ann/app.git",
    commit="a" * 40,
    stage="worker",
    agent="claude",
    model="opus",
    rights="work",
    limits=LIMITS,
)


def test_what_stays_within_the_policy_is_done() -> None:
    assert run_policy.judge(ASKED, POLICY) == LIMITS
    least = RequestedLimits(wall_seconds=0.5, silence_seconds=0.5, output_bytes=1, stderr_bytes=1)
    assert run_policy.judge(replace(ASKED, limits=least), POLICY) == least


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"run": "../../etc"}, "../../etc is not the id of a run"),
        ({"run": "a\nb"}, "is not the id of a run"),
        ({"commit": None}, "names no commit"),
        ({"commit": "main"}, "names no commit"),
        ({"commit": "--upload-pack=x"}, "names no commit"),
        ({"model": "--dangerously-skip-permissions"}, "--dangerously-skip-permissions is not the name of a model"),
        ({"model": "a b"}, "a b is not the name of a model"),
        ({"model": ""}, "is not the name of a model"),
        (
            {"repository": "https://example.org/eve/app.git"},
            "it is for https://example.org/eve/app.git, and this machine works for https://example.org/ann/app.git; ",
        ),
        ({"repository": "https://eve:secret@evil.example/ann/app"}, "it is for https://evil.example/ann/app, and"),
        ({"stage": "designer"}, "this machine does not do runs of the stage designer"),
        ({"agent": "command"}, "this machine does not run the agent command, but only claude, codex"),
        ({"agent": "\x1b[31mx"}, "this machine does not run the agent"),
        ({"limits": replace(LIMITS, wall_seconds=0.0)}, "has limits that are not above 0"),
        ({"limits": replace(LIMITS, silence_seconds=float("nan"))}, "has limits that are not above 0"),
        ({"limits": replace(LIMITS, output_bytes=-1)}, "has limits that are not above 0"),
    ],
)
def test_what_goes_beyond_it_is_refused_with_the_reason(change: dict[str, Any], reason: str) -> None:
    judged = run_policy.judge(replace(ASKED, **change), POLICY)

    assert isinstance(judged, RunRefused)
    assert reason in judged.reason
    assert judged.reason.isprintable()


def test_a_machine_with_a_clone_of_another_repository_leaves_the_run_to_others() -> None:
    refused = run_policy.judge(replace(ASKED, repository="https://example.org/eve/app.git"), POLICY)

    assert isinstance(refused, RunRefused)
    assert refused.elsewhere


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (timedelta(), timedelta(seconds=1)),
        (timedelta(minutes=1), timedelta(seconds=6)),
        (timedelta(hours=5), timedelta(minutes=5)),
        (timedelta(days=1), None),
    ],
)
def test_a_run_that_a_machine_refuses_is_left_to_others_for_a_day(age: timedelta, wait: timedelta | None) -> None:
    assert run_policy.wait_for_another(age) == wait


def test_a_machine_that_does_not_work_still_reads() -> None:
    policy = replace(POLICY, works=False)

    refused = run_policy.judge(ASKED, policy)

    reason = 'this machine does not change files: its prloom.toml has [work] mode = "off"'
    assert refused == RunRefused(reason, elsewhere=True)
    assert run_policy.judge(replace(ASKED, rights="read"), policy) == LIMITS


def test_limits_above_the_machines_own_become_its_own() -> None:
    wanted = RequestedLimits(wall_seconds=9999.0, silence_seconds=5.0, output_bytes=9999, stderr_bytes=5)

    judged = run_policy.judge(replace(ASKED, limits=wanted), POLICY)

    assert judged == RequestedLimits(wall_seconds=600.0, silence_seconds=5.0, output_bytes=1000, stderr_bytes=5)

    wanted = RequestedLimits(wall_seconds=5.0, silence_seconds=9999.0, output_bytes=5, stderr_bytes=9999)
    judged = run_policy.judge(replace(ASKED, limits=wanted), POLICY)

    assert judged == RequestedLimits(wall_seconds=5.0, silence_seconds=60.0, output_bytes=5, stderr_bytes=100)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://example.org/ann/app", "git@example.org:ann/app.git", True),
        ("ssh://git@Example.org:22/ann/app.git/", "https://token@example.org/ann/app", True),
        ("/srv/app.git", "/srv/app", True),
        ("/srv/app.git", "file:///srv/app.git", True),
        ("https://example.org/ann/app", "https://example.org/ann/app2", False),
        ("https://example.org/ann/app", "https://example.com/ann/app", False),
        ("example.org:app", "/example.org/app", False),
        ("https://[", "https://]", False),
        ("https://example.org/ann/app", "https://evil.example/://example.org/ann/app", False),
        ("/srv/app/.git", "/srv/app", True),
    ],
)
def test_one_repository_has_many_addresses(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a table
    assert run_policy.same_repository(one, other) == same
