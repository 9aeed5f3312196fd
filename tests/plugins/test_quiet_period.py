"""The bundled plugin that waits until a discussion is over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from prloom.api import Author, Event, ExtensionError, iso
from prloom.extensions.host.interface import Registered
from prloom.testing import (
    GOLDEN_EVENTS,
    NOW,
    PLAN,
    Backoff,
    Harness,
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
    def make(quiet: str | None = "2m", **settings: object) -> Harness:
        given = {} if quiet is None else {"quiet": quiet}
        return harness(bundled / "quiet_period", {**given, **settings})

    return make


@pytest.fixture
def plugin(bench: Bench) -> Harness:
    return bench()


def said_now(plugin: Harness, body: str = "hello", **fields: object) -> Event:
    return a_comment(body, created_at=plugin.now, **fields)


def test_a_comment_waits_until_nobody_has_spoken_for_a_while(plugin: Harness) -> None:
    comment = said_now(plugin)

    seen = plugin.show(comment)

    assert seen[comment].reason == "waiting for 2m without a new comment; 1 comment so far"
    assert seen.deferred[comment.id].deferred_until == iso(NOW + timedelta(minutes=2))
    assert plugin.advance("119s").fates == {}
    assert plugin.advance("1s").passed == (comment.id,)


def test_without_a_period_the_plugin_registers_nothing(bench: Bench) -> None:
    assert bench(None).registered == Registered()


def test_each_comment_restarts_the_period_for_all_and_they_go_on_together(plugin: Harness) -> None:
    first = said_now(plugin)
    plugin.show(first)
    plugin.advance("90s")
    second = said_now(plugin)

    restarted = plugin.show(second)

    assert restarted[first].reason == "waiting for 2m without a new comment; 2 comments so far"
    assert plugin.advance("119s").passed == ()
    assert set(plugin.advance("1s").passed) == {first.id, second.id}
    assert plugin.waiting() == ()


def test_what_has_gone_on_is_not_counted_with_what_comes_later(plugin: Harness) -> None:
    plugin.show(said_now(plugin))
    plugin.advance("3m")
    late = said_now(plugin)

    assert "; 1 comment so far" in (plugin.show(late)[late].reason or "")


def test_p5_a_busy_conversation_cannot_wait_for_ever(bench: Bench) -> None:
    plugin = bench(at_most="5m")
    first = said_now(plugin)
    plugin.show(first)
    for _ in range(4):
        plugin.advance("1m")
        plugin.show(said_now(plugin))

    assert plugin.advance("59s").passed == ()
    assert plugin.advance("1s").passed == (first.id,)


def test_an_edit_restarts_the_period_and_waits_no_longer_in_all(bench: Bench) -> None:
    plugin = bench(at_most="3m")
    plugin.show(said_now(plugin, id="c1"))
    plugin.advance("100s")
    edited = {"supersedes": "c1", "updatedAt": iso(plugin.now)}
    plugin.show(a_comment("hello!", id="c2", created_at=NOW, context=edited))

    assert plugin.advance("79s").passed == ()
    assert plugin.advance("1s").passed == ("c2",)


@pytest.mark.parametrize(
    "event",
    [
        a_comment("done", author=Author("ci[bot]", "write", bot=True)),
        a_comment("from the operator's shell", author=None),
        a_comment(" /deploy now"),
        a_request("rename it"),
        a_failed_check(),
    ],
)
def test_what_is_no_persons_comment_neither_waits_nor_keeps_others_waiting(event: Event, plugin: Harness) -> None:
    comment = said_now(plugin)
    plugin.show(comment)
    plugin.advance("1m")

    assert plugin.show(event).passed == (event.id,)
    assert plugin.advance("1m").passed == (comment.id,)


def test_reviews_and_comments_on_lines_are_speech_too(bench: Bench) -> None:
    assert len(bench().show(a_review("hm"), a_review_comment("why?"), a_comment("hi")).deferred) == 3


@pytest.mark.parametrize(
    "at",
    [
        NOW - timedelta(hours=8),  # the machine's clock is ahead of the forge's
        "2036-01-01T00:00:00Z",
        "nonsense",
        "0001-01-01T00:00:00+14:00",
        None,
    ],
)
def test_the_period_begins_when_prloom_hears_of_a_comment_whatever_time_the_forge_tells(
    at: datetime | str | None, plugin: Harness
) -> None:
    event = a_comment("hi", created_at=at)

    assert plugin.show(event).deferred[event.id].deferred_until == iso(NOW + timedelta(minutes=2))
    assert plugin.advance("2m").passed == (event.id,)


def test_what_has_waited_long_enough_does_not_wait_for_others_who_speak(bench: Bench) -> None:
    plugin = bench(at_most="3m")
    old = said_now(plugin)
    plugin.show(old)
    plugin.advance("90s")
    new = said_now(plugin)
    plugin.show(new)

    assert plugin.advance("90s").passed == (old.id,)
    assert plugin.waiting() == (new.id,)


def test_a_clock_that_is_turned_back_does_not_make_a_comment_wait_longer(plugin: Harness) -> None:
    comment = said_now(plugin)
    plugin.show(comment)
    plugin.now -= timedelta(hours=8)

    waits = plugin.call("beforeTriage", comment)

    assert [mark.retry_after_ms for mark in waits.marks] == [120_000]
    assert [mark.until for mark in waits.marks] == [iso(plugin.now + timedelta(minutes=30))]


def test_each_plan_has_a_period_of_its_own(plugin: Harness) -> None:
    here = said_now(plugin)
    plugin.show(here)
    plugin.advance("1m")
    plugin.show(said_now(plugin), plan="pr-8")

    assert plugin.advance("1m").passed == (here.id,)


def test_a_comment_whose_wait_is_over_is_not_deferred_again(plugin: Harness) -> None:
    comment = said_now(plugin)
    plugin.show(comment)
    plugin.advance("3m")
    plugin.show(said_now(plugin))

    again = plugin.call("beforeTriage", comment)

    assert again.marks == ()


def test_what_an_earlier_plugin_dealt_with_is_forgotten_in_the_end(plugin: Harness) -> None:
    taken = a_comment("/prloom help", created_at=NOW)
    plugin.show(said_now(plugin))
    plugin.state()["since"]["gone"] = iso(NOW)  # heard, and then handled by an earlier plugin
    plugin.advance("31m")
    plugin.show(taken, said_now(plugin, id="new"))

    assert list(plugin.state()["since"]) == ["new"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"quiet": 120}, 'quiet: is 120, which has no unit; write "120s" for seconds'),
        ({"quiet": "soon"}, 'quiet: is "soon", which is not a duration'),
        ({"quiet": "5m", "at_most": "1m"}, "at_most is 60s, which is shorter than quiet, 5m; make it longer"),
    ],
)
def test_settings_that_make_no_sense_say_what_to_write(bundled: Path, settings: dict[str, object], text: str) -> None:
    with pytest.raises(ExtensionError, match=text):
        harness(bundled / "quiet_period", settings)


def test_p5_golden_events_all_go_on_in_the_end(bundled: Path) -> None:
    plugin = harness(bundled / "quiet_period", {"quiet": "2m"}, backoff=Backoff(deadline=timedelta(days=1)))
    plugin.show(*GOLDEN_EVENTS.values())

    plugin.advance("31m")

    assert plugin.waiting(PLAN) == ()
