"""Which pull request is read next where nothing points to any, and how long changes that no list shows stay unread."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bridges.github.sansio import schedule
from bridges.github.sansio.cursor import ChecksState, GithubCursor, PullRequestState
from prloom.api import iso

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def pulls(*quiet: timedelta, used: tuple[str, ...] = ("checks", "status")) -> GithubCursor:
    """Return a cursor with pull requests where nothing has happened for so long."""
    seen = {number: PullRequestState(head="abc", updated=iso(NOON - since)) for number, since in enumerate(quiet, 1)}
    return GithubCursor(pull_requests=seen, used=list(used))


def waits(state: GithubCursor, polls: int) -> dict[tuple[int, str], int]:
    """Choose reads for so many polls; return how many polls passed at most between two reads."""
    last: dict[tuple[int, str], int] = {}
    longest: dict[tuple[int, str], int] = {}
    for poll in range(1, polls + 1):
        state.poll_number = poll
        chosen = schedule.next_read(state, schedule.KINDS, NOON)
        assert chosen is not None
        longest[chosen] = max(longest.get(chosen, 0), poll - last.get(chosen, 0))
        last[chosen] = poll
        state.pull_requests[chosen.number].last_read[chosen.kind] = poll
    return {read: max(longest[read], polls - last[read]) for read in longest}


def test_every_pull_request_is_read_for_every_kind() -> None:
    state = pulls(*[DAY] * 10, *[60 * DAY] * 10, used=())

    assert set(waits(state, 2000)) == {(number, kind) for number in range(1, 21) for kind in schedule.KINDS}


def test_an_active_one_is_read_often_and_no_quiet_one_is_forgotten_for_it() -> None:
    alike, longest = waits(pulls(*[DAY] * 40), 800), waits(pulls(HOUR, *[14 * DAY] * 39), 800)

    assert longest[1, "checks"] * 10 < alike[1, "checks"]
    assert longest[20, "checks"] < alike[20, "checks"] * 1.5


def test_for_what_the_repository_never_had_it_is_read_less_often() -> None:
    longest = waits(pulls(*[DAY] * 10, used=("checks",)), 500)

    assert longest[5, "status"] > 2 * longest[5, "checks"]
    assert longest[5, "checks"] < longest[5, "merge"]


@pytest.mark.parametrize(
    ("number", "polls"),
    [(1, 3), (10, 30), (100, 300)],
)
def test_how_many_polls_pass_at_most_where_all_are_equally_active(number: int, polls: int) -> None:
    longest = waits(pulls(*[DAY] * number), 2 * polls)

    assert max(longest[read] for read in longest if read[1] != "merge") <= polls


@pytest.mark.parametrize(
    ("quiet", "active", "others"),
    [([HOUR, 2 * HOUR, *[DAY] * 3, *[7 * DAY] * 5], 10, 120), ([*[2 * HOUR] * 10, *[14 * DAY] * 290], 70, 900)],
    ids=["10", "300"],
)
def test_how_long_the_documentation_says_that_it_takes(quiet: list[timedelta], active: int, others: int) -> None:
    """An hour has 30 scheduled reads where GitHub Actions has the other half of them."""
    longest = waits(pulls(*quiet, used=("checks",)), 1800)

    assert longest[1, "checks"] <= active
    assert longest[len(quiet), "checks"] <= others


def test_what_is_read_in_each_poll_anyway_is_not_scheduled() -> None:
    state = pulls(DAY)
    state.pull_requests[1].checks = ChecksState(changed_at=iso(NOON - timedelta(minutes=5)))
    state.poll_number = 1

    assert schedule.next_read(state, schedule.KINDS, NOON) == (1, "merge")
    state.mergeability_due = {1: 0}
    assert schedule.next_read(state, schedule.KINDS, NOON) is None


@pytest.mark.parametrize("updated", ["", "yesterday", "2099-01-01T00:00:00Z"])
def test_an_invalid_time_keeps_no_pull_request_from_being_read(updated: str) -> None:
    state = GithubCursor(pull_requests={1: PullRequestState(updated=updated)}, poll_number=1)

    assert schedule.next_read(state, ("merge",), NOON) == (1, "merge")


def test_a_pull_request_that_has_ended_is_not_scheduled() -> None:
    assert (
        schedule.next_read(
            GithubCursor(pull_requests={1: PullRequestState(state="closed")}, poll_number=1), schedule.KINDS, NOON
        )
        is None
    )
