"""What is said of the refs of the remote that moved during a run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from prloom.core.work import repository_changes

A, B = "a" * 40, "b" * 40
MAIN = "refs/heads/main"
SAID = "refs of origin moved during the run, by the worker or by somebody else: "


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({MAIN: A}, {MAIN: B}, "refs/heads/main was moved from aaaaaaaaaa to bbbbbbbbbb"),
        ({}, {"refs/tags/v1": B}, "refs/tags/v1 was created at bbbbbbbbbb"),
        ({MAIN: A}, {}, "refs/heads/main was deleted"),
        ({}, {"refs/heads/\x1b[2J": A}, "refs/heads/\\x1b[2J was created at aaaaaaaaaa"),
    ],
)
def test_a_ref_that_moved_is_named(before: Mapping[str, str], after: Mapping[str, str], named: str) -> None:
    assert repository_changes.moved_on_remote(before, after, {}) == SAID + named


def test_of_many_refs_the_first_are_named() -> None:
    first = SAID + ", ".join(f"refs/heads/{number} was created at aaaaaaaaaa" for number in range(5))

    assert repository_changes.moved_on_remote({}, {f"refs/heads/{number}": A for number in range(5)}, {}) == first
    assert (
        repository_changes.moved_on_remote({}, {f"refs/heads/{number}": A for number in range(7)}, {})
        == f"{first} and 2 more"
    )


def test_a_ref_that_prloom_pushed_or_that_did_not_move_is_not_named() -> None:
    assert (
        repository_changes.moved_on_remote({MAIN: A, "refs/heads/x": A}, {MAIN: B, "refs/heads/x": A}, {MAIN: B})
        is None
    )


def test_a_ref_that_moved_on_from_where_prloom_had_pushed_it_is_named() -> None:
    assert repository_changes.moved_on_remote({MAIN: A}, {MAIN: B}, {MAIN: A}) is not None
    assert repository_changes.moved_on_remote({MAIN: A}, {}, {MAIN: A}) is not None
