"""Workers that have nothing to do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest
from run_pools import ForkedPool

from prloom.exchange import connect

MANY = 20

pytestmark = pytest.mark.skipif(not hasattr(psutil.Process, "io_counters"), reason="this system does not count I/O")


def reads(workers: list[psutil.Process]) -> list[int]:
    return [worker.io_counters().read_count for worker in workers]


def written(workers: list[psutil.Process]) -> list[tuple[int, int]]:
    return [(each.write_count, each.write_chars) for each in (worker.io_counters() for worker in workers)]


def stamps(folder: Path) -> list[int]:
    return [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]


async def test_many_idle_workers_write_nothing_when_they_are_woken_for_what_is_not_theirs(tmp_path: Path):
    database = tmp_path / "exchange.db"
    pool = ForkedPool(str(database), MANY, os.environ)
    try:
        assert pool.process.pid is not None
        first = psutil.Process(pool.process.pid)
        async with asyncio.timeout(60):
            while len(workers := first.children()) < MANY:  # noqa: ASYNC110 - files and processes of others
                await asyncio.sleep(0.01)
            with connect(database) as exchange:
                is_quiet = False
                while not is_quiet:  # at first some of them have yet to begin, and write what one that begins does
                    before, writes = reads(workers), written(workers)
                    exchange.publish("nobodys.business", "wake up")
                    changed = stamps(tmp_path)
                    while any(now <= then for now, then in zip(reads(workers), before, strict=True)):  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                    is_quiet = (written(workers), stamps(tmp_path)) == (writes, changed)
    finally:
        await asyncio.to_thread(pool.end)
