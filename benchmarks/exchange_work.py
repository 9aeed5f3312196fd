"""What is measured of every store alike: publish, work on a message, and wait for one."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from harness import Figure, Sizes, alternate, compared, span, timed

from prloom.exchange import validation
from prloom.exchange.exchange import Exchange

MANY = 100
"""Messages in one measure: one alone is as long as the disk's mood."""

BODY = "x" * 200
FORK = multiprocessing.get_context("fork")
_IDLE = 20


def rated(figure: Figure, subject: Callable[[], object], yardstick: Callable[[], object], sizes: Sizes) -> Figure:
    """Compare two pieces of work by their rates."""
    # A rate is the inverse of a time.
    paired = alternate(timed(_often(yardstick)), timed(_often(subject)), sizes.rounds)
    figure = compared(figure, paired)
    return replace(figure, subject_took=span(paired.yardstick / MANY), yardstick_took=span(paired.subject / MANY))


def publish(exchange: Exchange, count: int) -> None:
    """Publish so many messages, some at a time."""
    for _ in range(0, count, MANY):
        exchange.publish_all([validation.draft("t", BODY) for _ in range(MANY)])


def work(exchange: Exchange) -> None:
    """Claim a message and complete it."""
    claimed = exchange.claim("t")
    assert claimed is not None  # noqa: S101 (enough was published)
    claimed.complete("done")


def idle(
    sizes: Sizes, row: str, store: str, opened: Callable[[], Exchange], written: Callable[[], int]
) -> tuple[Figure, Figure]:
    """Return what twenty workers write, by a count that only grows, and what they cost, while nothing is to be done."""
    seconds = 1 if sizes.rounds == 1 else 10
    with opened() as exchange:
        exchange.claim("t")  # that somebody works on it is noted once in an exchange's life
    before = written()
    with FORK.Pool(_IDLE, initializer=_wait_with, initargs=(opened,)) as pool:
        used = pool.map(_idle, [seconds] * _IDLE, chunksize=1)
    words = f"{_IDLE} idle workers for {seconds} s, {store}"
    return (
        Figure(row, words, "write transactions", 0, written() - before, unit=""),
        Figure(row, words, "a core", 1, 100 * sum(used) / seconds, unit="%"),
    )


def _often(work_: Callable[[], object]) -> Callable[[], object]:
    def several() -> None:
        for _ in range(MANY):
            work_()

    return several


_opened: list[Callable[[], Exchange]] = []  # of a process of the pool


def _wait_with(opened: Callable[[], Exchange]) -> None:
    _opened.append(opened)


def _idle(seconds: int) -> float:
    """Wait for work, and return the processor's time that it took, in seconds, less that of beginning to."""
    with _opened[0]() as exchange:
        assert list(exchange.claims("t", patience=timedelta(0))) == []  # noqa: S101 (there is nothing to claim)
        begun = time.process_time()
        assert list(exchange.claims("t", patience=timedelta(seconds=seconds))) == []  # noqa: S101 (likewise)
        return time.process_time() - begun
