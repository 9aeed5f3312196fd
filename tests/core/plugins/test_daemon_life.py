"""When a daemon is checked, restarted and given up, as tables of numbers."""

from __future__ import annotations

from dataclasses import replace

from prloom.core.plugins import daemon_life
from prloom.core.plugins.daemon_life import DaemonLife, HealthRules

RULES = HealthRules(interval=30, timeout=5, retries=3)


def a_running_daemon(now: float = 0.0) -> DaemonLife:
    return daemon_life.ready(daemon_life.starting(DaemonLife(), now), now, RULES)


def test_a_crash_is_followed_by_three_attempts_after_5_10_and_15_seconds_and_then_by_none():
    life, now, waits = a_running_daemon(), 0.0, []
    while (life := daemon_life.crashed(life, now, "it exited")).next_attempt is not None:
        waits.append(life.next_attempt - now)
        now = life.next_attempt
        life = daemon_life.starting(life, now)

    assert waits == [5, 10, 15]
    assert (life.state, life.restarts, life.reason) == ("error", 3, "it exited")


def test_a_first_start_that_fails_is_tried_again_as_after_any_crash():
    life = daemon_life.crashed(daemon_life.starting(DaemonLife(), 7), 8, "it exited")

    assert (life.state, life.next_attempt) == ("error", 13)


def test_a_minute_of_health_makes_earlier_crashes_not_count():
    crashed = daemon_life.crashed(a_running_daemon(), 1, "it exited")
    again = daemon_life.ready(daemon_life.starting(crashed, 6), 7, RULES)

    assert daemon_life.crashed(again, 66, "it exited").next_attempt == 76
    assert daemon_life.crashed(again, 67, "it exited").next_attempt == 72


def test_a_minute_of_health_counts_for_a_daemon_that_then_fails_its_health_checks_too():
    life = replace(a_running_daemon(), attempts=3)
    for now in (90, 120, 150):
        life = daemon_life.checked(life, now, RULES, healthy=False)

    assert daemon_life.crashed(life, 150, "not healthy").next_attempt == 155


def test_a_daemon_is_unhealthy_after_so_many_failures_in_a_row():
    life, verdicts = a_running_daemon(), []
    for now, healthy in enumerate((False, False, True, False, False, False)):
        life = daemon_life.checked(life, now, RULES, healthy=healthy)
        verdicts.append(daemon_life.is_unhealthy(life, RULES))

    assert verdicts == [False, False, False, False, False, True]


def test_health_is_checked_at_each_interval():
    life = a_running_daemon(now=100)

    assert daemon_life.next_time(life) == 130
    assert daemon_life.next_time(daemon_life.checked(life, 131, RULES, healthy=True)) == 161
    assert [daemon_life.until_check(life, now) for now in (100, 110, 131)] == [30, 20, 0]


def test_a_daemon_that_cannot_be_started_at_all_is_not_tried_again_and_has_not_been_started():
    life = daemon_life.refused(DaemonLife(), 1, "a setting is missing")

    assert (life.state, life.started, life.next_attempt) == ("error", False, None)
    assert not daemon_life.is_due(life, 10**9)


def test_a_restart_is_due_when_its_time_has_come():
    life = daemon_life.crashed(a_running_daemon(), 0, "it exited")

    assert [daemon_life.is_due(life, now) for now in (4.9, 5.0)] == [False, True]
    assert daemon_life.next_time(life) == 5
    assert daemon_life.is_due(DaemonLife(), 0)


PAST = DaemonLife(
    state="error",
    since=1,
    reason="it exited",
    started=True,
    attempts=1,
    restarts=2,
    next_attempt=8,
    next_check=9,
    health_failures=2,
    healthy_since=3,
    problem="no mail goes out",
    problem_since=4,
)


def test_each_step_says_since_when_it_is_and_why_and_leaves_nothing_that_is_over():
    nothing_due = replace(PAST, since=20, next_attempt=None, next_check=None)
    well = replace(nothing_due, problem=None, problem_since=None)

    assert daemon_life.starting(replace(PAST, started=False), 20) == replace(
        nothing_due, state="starting", attempts=2, restarts=3, health_failures=0, healthy_since=None
    )
    assert daemon_life.ready(PAST, 20, RULES) == replace(
        PAST, state="running", since=20, reason=None, healthy_since=20, next_check=50
    )
    assert daemon_life.crashed(PAST, 20, "it fell") == replace(
        well, reason="it fell", next_attempt=30, healthy_since=None
    )
    assert daemon_life.refused(PAST, 20, "no key") == replace(nothing_due, reason="no key", started=False)
    assert daemon_life.stopping(PAST, 20) == replace(well, state="stopping")
    assert daemon_life.stopped(PAST, 20) == DaemonLife(state="stopped", since=20, started=True, restarts=2)


def test_a_check_counts_its_failures_and_since_when_the_daemon_is_healthy():
    failed = daemon_life.checked(PAST, 20, RULES, healthy=False)

    assert failed == replace(PAST, health_failures=3, healthy_since=None, next_check=50)
    assert daemon_life.checked(PAST, 20, RULES, healthy=True) == replace(PAST, health_failures=0, next_check=50)
    assert daemon_life.checked(failed, 50, RULES, healthy=True).healthy_since == 50


def test_what_a_daemon_says_does_not_work_has_begun_when_it_said_so_first_and_is_over_with_its_process():
    first = daemon_life.with_problem(a_running_daemon(now=100), 130, "no mail goes out")
    later = daemon_life.with_problem(first, 160, "no mail goes out to two")

    assert (later.problem, later.problem_since) == ("no mail goes out to two", 130)
    assert daemon_life.with_problem(later, 190, None).problem_since is None
    assert [daemon_life.crashed(later, 1, "it exited").problem, daemon_life.stopping(later, 1).problem] == [None, None]
