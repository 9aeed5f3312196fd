"""Locks on open files, as two descriptors of one process see them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from prloom import flock


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[tuple[int, int]]:
    opened = [os.open(tmp_path, os.O_RDONLY) for _ in range(2)]
    yield opened[0], opened[1]
    for fd in opened:
        os.close(fd)


def test_a_lock_excludes_another_one_until_it_is_released(descriptors: tuple[int, int]):
    first, second = descriptors
    flock.wait_and_lock(first)

    assert not flock.try_lock(second)
    assert not flock.try_lock(second, shared=True)
    assert not flock.lock_within(second, 0)
    flock.unlock(first)
    assert flock.lock_within(second, 0)


def test_who_looks_whether_a_file_is_locked_keeps_no_lock(descriptors: tuple[int, int]):
    first, second = descriptors

    assert not flock.is_locked(second)
    flock.wait_and_lock(first)
    assert flock.is_locked(second)
    flock.unlock(first)
    assert not flock.is_locked(second)
    assert flock.try_lock(first)


def test_a_file_that_cannot_be_locked_is_not_locked(descriptors: tuple[int, int]):
    closed = os.dup(descriptors[0])
    os.close(closed)

    assert not flock.is_locked(closed)


def test_shared_locks_exclude_only_others(descriptors: tuple[int, int]):
    first, second = descriptors

    assert flock.try_lock(first, shared=True)
    assert flock.try_lock(second, shared=True)
    assert not flock.try_lock(second)


def test_a_lock_that_is_released_meanwhile_is_taken_after_a_pause(descriptors: tuple[int, int]):
    first, second = descriptors
    flock.wait_and_lock(first)

    def release_after_two() -> Iterator[float]:
        yield 0
        flock.unlock(first)
        yield 0

    assert flock.lock_within(second, 60, pauses=release_after_two())


def test_pauses_grow_or_shrink_up_to_a_bound():
    assert list(islice(flock.growing_pauses(1, 2, 3), 4)) == [1, 2, 3, 3]
    assert list(islice(flock.shrinking_pauses(4, 0.5, 1), 4)) == [4, 2, 1, 1]
