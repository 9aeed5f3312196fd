"""The bundled plugin that holds feedback while checks run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from prloom.api import Event, ExtensionError, iso
from prloom.extensions.host.interface import Registered
from prloom.testing import (
    GOLDEN_EVENTS,
    NOW,
    Harness,
    a_checks_report,
    a_comment,
    a_failed_check,
    a_request,
    a_review,
    a_review_comment,
    harness,
)

Bench = Callable[..., Harness]


@pytest.fixture
def bench(bundled: Path) -> Bench:
    def make(at_most: str | None = "30m", **settings: object) -> Harness:
        given = {} if at_most is None else {"at_most": at_most}
        return harness(bundled / "wait_for_checks", {**given, **settings})

    return make


def test_feedback_waits_while_checks_run_and_goes_on_when_they_are_done(bench: Bench) -> None:
    plugin = bench()
    plugin.show(a_checks_report(2))
    review = a_review("Rename it.", "changes_requested")

    seen = plugin.show(review)

    assert seen[review].reason == "2 checks are running on 1a2b3c4d5e6f"
    assert plugin.advance("5m").passed == ()
    assert plugin.show(a_checks_report(0, passed=2)).passed == (review.id,)


def test_without_a_bound_the_plugin_registers_nothing(bench: Bench) -> None:
    assert bench(None).registered == Registered()


def test_where_nothing_is_said_of_checks_nothing_waits(bench: Bench) -> None:
    comment = a_comment("hello")

    assert bench().show(comment).passed == (comment.id,)


def test_what_any_event_says_of_checks_counts_the_latest_of_all(bench: Bench) -> None:
    plugin = bench()
    first = a_comment("one", context={"checks": {"running": 1}})
    second = a_comment("two", context={"checks": {"running": 0}})

    assert plugin.show(first)[first].reason == "1 check is running"
    assert set(plugin.show(second).passed) == {first.id, second.id}


def test_of_two_reports_that_say_when_they_were_made_the_later_one_holds(bench: Bench) -> None:
    def report(running: int, at: str) -> Event:
        return a_checks_report(running, context={"checks": {"running": running, "at": at}})

    plugin = bench()
    plugin.show(report(0, "2026-11-21T12:00:10Z"))
    plugin.show(report(3, "2026-11-21T13:00:05+01:00"))
    comment = a_comment("hello")

    assert plugin.show(comment).passed == (comment.id,)


def test_a_report_is_dealt_with_for_no_agent_needs_to_see_it(bench: Bench) -> None:
    report = a_checks_report(1)

    assert bench().show(report).handled == (report.id,)


def test_a_failed_check_reaches_the_agent_at_once_unless_it_is_to_wait(bench: Bench) -> None:
    failed = a_failed_check()
    at_once, waiting = bench(), bench(types=["check_failed"])
    for plugin in (at_once, waiting):
        plugin.show(a_checks_report(1))

    assert at_once.show(failed).passed == (failed.id,)
    assert list(waiting.show(failed).deferred) == [failed.id]


def test_all_feedback_waits_and_goes_on_together(bench: Bench) -> None:
    plugin = bench()
    plugin.show(a_checks_report(1))
    events = [a_comment(), a_review("x"), a_review_comment(), a_request()]
    for event in events:
        plugin.show(event)
        plugin.advance("7s")

    assert set(plugin.show(a_checks_report(0)).passed) == {event.id for event in events}


def test_while_checks_run_nothing_is_tried_in_vain(bench: Bench) -> None:
    plugin = bench("30m")
    plugin.show(a_checks_report(1))
    comment = a_comment()

    wait = plugin.show(comment).deferred[comment.id]

    assert (wait.deferred_until, wait.deadline) == (iso(NOW + timedelta(minutes=30)),) * 2
    assert wait.wake_on is not None
    assert wait.wake_on.types == ("checks_changed",)


def test_p5_nothing_waits_longer_than_the_operator_allows(bench: Bench) -> None:
    plugin = bench("10m")
    plugin.show(a_checks_report(1))
    comment = a_comment()

    seen = plugin.show(comment)

    assert seen.deferred[comment.id].deadline == iso(NOW + timedelta(minutes=10))
    plugin.show(a_checks_report(1))
    assert plugin.advance("9m59s").passed == ()
    plugin.show(a_checks_report(1))
    assert plugin.advance("1s").passed == (comment.id,)


def test_a_source_that_fell_silent_holds_up_nothing_that_comes_later(bench: Bench) -> None:
    plugin = bench("10m")
    plugin.show(a_checks_report(1))
    plugin.advance("10m")
    comment = a_comment()

    assert plugin.show(comment).passed == (comment.id,)


def test_an_event_that_has_waited_does_not_wait_again(bench: Bench) -> None:
    plugin = bench("10m")
    plugin.show(a_checks_report(1))
    comment = a_comment()
    plugin.show(comment)
    plugin.advance("10m")
    plugin.show(a_checks_report(1))

    assert plugin.call("beforeTriage", comment).marks == ()


def test_each_plan_has_checks_of_its_own(bench: Bench) -> None:
    plugin = bench()
    plugin.show(a_checks_report(1))
    comment = a_comment()

    assert plugin.show(comment, plan="pr-8").passed == (comment.id,)


@pytest.mark.parametrize(
    "checks",
    [
        None,
        "running",
        3,
        [],
        {},
        {"running": "2"},
        {"running": True},
        {"running": -1},
        {"running": 10**30},
        {"failed": 1},
    ],
)
def test_what_does_not_follow_the_convention_says_nothing(bench: Bench, checks: Any) -> None:
    comment = a_comment(context={"checks": checks})

    assert bench().show(comment).passed == (comment.id,)


@pytest.mark.parametrize(
    "more", [{"commit": 7}, {"commit": "\x1b[2J"}, {"at": "now"}, {"at": 3}, {"at": "0001-01-01T00:00:00+14:00"}]
)
def test_what_is_odd_beside_the_number_is_left_out(bench: Bench, more: dict[str, object]) -> None:
    comment = a_comment(context={"checks": {"running": 1, **more}})

    assert bench().show(comment)[comment].reason == "1 check is running"


def test_settings_that_make_no_sense_say_what_to_write(bench: Bench) -> None:
    with pytest.raises(ExtensionError, match=r'at_most: is 30, which has no unit; write "30s" for seconds'):
        bench(30)


def test_p5_golden_events_all_go_on_in_the_end(bench: Bench) -> None:
    plugin = bench()
    plugin.show(a_checks_report(1))
    plugin.show(*GOLDEN_EVENTS.values())

    plugin.advance("30m")

    assert plugin.waiting() == ()
