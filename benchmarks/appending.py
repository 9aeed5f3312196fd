"""What it costs to put a poll's events on the disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import rig
from harness import Figure, Row, Sizes, alternate, blank, compared, timed
from stage import ListBridge, Stage

from prloom.api import BridgeContext
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling import poll
from prloom.engine.polling.poller import Poller
from prloom.extensions.bridges import LoadedBridge
from prloom.storage.disk import Disk

_MANY = 15
"""Appends in one measure: one alone is as long as the disk's mood."""


class CountingDisk(Disk):
    """Counts the flushes."""

    def __init__(self) -> None:
        self.flushes = 0

    def fdatasync(self, fd: int) -> None:
        """Count, and flush."""
        self.flushes += 1
        super().fdatasync(fd)

    def fsync(self, fd: int) -> None:
        """Count, and flush."""
        self.flushes += 1
        super().fsync(fd)


def append(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Append a poll's page to a plan's bus; bare: write lines that are ready, and flush."""
    root = rig.repository(folder / "repository")
    page = rig.comments(range(sizes.page))
    block = b"".join(line + b"\n" for line in rig.lines(range(sizes.page)))
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def written() -> None:
        for _ in range(_MANY):
            os.write(bare, block)
            os.fdatasync(bare)

    with rig.runtime(root) as runtime:

        def appended() -> None:
            for _ in range(_MANY):
                poll._append(runtime, page)  # noqa: SLF001 - it is what a poll does with a page

        paired = alternate(timed(written), timed(appended), sizes.rounds)  # a rate is the inverse of a time
    os.close(bare)
    work = f"durable append of a poll page of {sizes.page} events"
    yard = f"bare write of {sizes.page} lines + fdatasync, as a rate"
    figure = compared(blank("append", work, yard, 0.5, sense="at least"), paired)
    yield replace(figure, subject_took=_each(paired.yardstick), yardstick_took=_each(paired.subject))


def _each(seconds: float) -> str:
    return f"{seconds / _MANY * 1e3:.3g} ms"


def flushes(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Count the flushes of one poll: from the bridge's answer until its events and its cursor are on the disk."""
    counts = {}
    for size in (1, sizes.page, 10 * sizes.page):
        stage = Stage(folder / str(size))
        stage.root.mkdir()
        stage.adopt()
        counts[size] = asyncio.run(_polled(stage, size))
    work = f"flushes per poll batch of {', '.join(map(str, counts))} events"
    yield Figure("flushes", work, "count", 2, max(counts.values()), unit="", subject_took=str(list(counts.values())))


async def _polled(stage: Stage, size: int) -> int:
    disk = CountingDisk()
    general = rules(stage.config)
    board = PlanRegistry(stage.paths, general, stage.clock, disk=disk)
    board.update(general)
    bridge = ListBridge()
    poller = Poller(
        LoadedBridge("forge", "bench", bridge, ("forge",), timedelta(0)), board.local.make_sub("bus"), board.paths
    )
    counted = 0
    for first in (0, size):  # the first poll makes the files
        bridge.news += rig.comments(range(first, first + size))
        before = disk.flushes
        plans = tuple(runtime.tracked for runtime in board.runtimes.values())
        context = BridgeContext(repo_root=stage.root, plans=plans, now=datetime.now(UTC))
        await poller.poll(board.runtimes, board.repository, context)
        counted = disk.flushes - before
    board.close()
    return counted


ROWS = (Row("append", append), Row("flushes", flushes))
