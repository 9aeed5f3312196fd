"""Whose turn it is where nothing points to anybody: how long what no list tells of stays unseen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bridges.github.sansio import poll_schedule
from bridges.github.sansio.cursor import Checks, GithubCursor, SeenPullRequest
from prloom.api import iso

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def pulls(*quiet: timedelta, used: tuple[str, ...] = ("checks", "status")) -> GithubCursor:
    """Return what is known of pull requests where nothing has happened for so long."""
    seen = {number: SeenPullRequest(head="abc", updated=iso(NOON - since)) for number, since in enumerate(quiet, 1)}
    return GithubCursor(pull_requests=seen, used=list(used))


def waits(known: GithubCursor, turns: int) -> dict[tuple[int, str], int]:
    """Play so many turns; return how many passed at most between two looks."""
    last: dict[tuple[int, str], int] = {}
    longest: dict[tuple[int, str], int] = {}
    for turn in range(1, turns + 1):
        known.turn = turn
        chosen = poll_schedule.choose(known, poll_schedule.KINDS, NOON)
        assert chosen is not None
        longest[chosen] = max(longest.get(chosen, 0), turn - last.get(chosen, 0))
        last[chosen] = turn
        known.pull_requests[chosen.number].looked[chosen.kind] = turn
    return {look: max(longest[look], turns - last[look]) for look in longest}


def test_everybody_has_a_turn() -> None:
    known = pulls(*[DAY] * 10, *[60 * DAY] * 10, used=())

    assert set(waits(known, 2000)) == {(number, kind) for number in range(1, 21) for kind in poll_schedule.KINDS}


def test_a_lively_one_is_looked_at_often_and_no_quiet_one_is_forgotten_for_it() -> None:
    alike, longest = waits(pulls(*[DAY] * 100), 2000), waits(pulls(HOUR, *[14 * DAY] * 99), 2000)

    assert longest[1, "checks"] * 10 < alike[1, "checks"]
    assert longest[50, "checks"] < alike[50, "checks"] * 1.5


def test_for_what_the_repository_never_had_it_is_looked_at_less_often() -> None:
    longest = waits(pulls(*[DAY] * 10, used=("checks",)), 500)

    assert longest[5, "status"] > 2 * longest[5, "checks"]
    assert longest[5, "checks"] < longest[5, "merge"]


@pytest.mark.parametrize(
    ("number", "turns"),
    [(1, 3), (10, 30), (300, 900)],
)
def test_how_many_turns_pass_at_most_where_all_are_equally_lively(number: int, turns: int) -> None:
    longest = waits(pulls(*[DAY] * number), 2 * turns)

    assert max(longest[look] for look in longest if look[1] != "merge") <= turns


@pytest.mark.parametrize(
    ("quiet", "lively", "others"),
    [([HOUR, 2 * HOUR, *[DAY] * 3, *[7 * DAY] * 5], 10, 120), ([*[2 * HOUR] * 10, *[14 * DAY] * 290], 70, 900)],
    ids=["10", "300"],
)
def test_how_long_the_documentation_says_that_it_takes(quiet: list[timedelta], lively: int, others: int) -> None:
    """An hour has 30 turns where GitHub Actions has the other half of them."""
    longest = waits(pulls(*quiet, used=("checks",)), 1800)

    assert longest[1, "checks"] <= lively
    assert longest[len(quiet), "checks"] <= others


def test_what_is_looked_at_in_each_poll_anyway_has_no_turn() -> None:
    known = pulls(DAY)
    known.pull_requests[1].checks = Checks(moved=iso(NOON - timedelta(minutes=5)))
    known.turn = 1

    assert poll_schedule.choose(known, poll_schedule.KINDS, NOON) == (1, "merge")
    known.merges_due = {1: 0}
    assert poll_schedule.choose(known, poll_schedule.KINDS, NOON) is None


@pytest.mark.parametrize("updated", ["", "yesterday", "2099-01-01T00:00:00Z"])
def test_a_time_that_makes_no_sense_keeps_nobody_from_a_turn(updated: str) -> None:
    known = GithubCursor(pull_requests={1: SeenPullRequest(updated=updated)}, turn=1)

    assert poll_schedule.choose(known, ("merge",), NOON) == (1, "merge")


def test_what_has_ended_has_no_turn() -> None:
    assert (
        poll_schedule.choose(
            GithubCursor(pull_requests={1: SeenPullRequest(state="closed")}, turn=1), poll_schedule.KINDS, NOON
        )
        is None
    )
