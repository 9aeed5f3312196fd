"""What `prloom web` costs: its first page behind a long history, and a change until an open page is told of it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import rig
from harness import Figure, Row, Sizes, blank, span

from prloom.config import loading
from prloom.storage.paths import RepositoryPaths
from prloom.web import render
from prloom.web.changes import PageChanges
from prloom.web.pages import dashboard
from prloom.web.site import Query, Site

_PAGE = 50.0  # milliseconds of a processor
_CHANGE = 0.5  # seconds
_SCOPE = {"type": "http", "headers": [], "path": "/", "query_string": b""}


def measure(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure the first page of all plans, and a change of one of them."""
    plans = [f"plan-{number}" for number in range(max(sizes.plans))]
    root = rig.repository(folder / "repository", plans[:1])
    each = max(1, sizes.saved // len(plans))
    rig.history(root, each, plans[0])
    for plan in plans[1:]:
        rig._copy(root / ".git", root / "prloom/.local/worktrees", plans[0], plan)  # noqa: SLF001 - as `repository` does
    site = Site(RepositoryPaths(root, root / "prloom/.local/worktrees"), lambda: loading.load(root, {}), {})
    yield _page(sizes, site, f"first page of {len(plans)} plans with {each * len(plans):,} events")
    yield asyncio.run(_change(sizes, site, plans[-1]))
    shutil.rmtree(root)


def _page(sizes: Sizes, site: Site, work: str) -> Figure:
    took = []
    for _ in range(sizes.rounds + 1):
        begun = time.process_time()
        found = dashboard.page(site, Query({}, {}))
        values = {"title": found.title, "it": found.value, "parts": found.parts, **found.more}
        render.page(_SCOPE, found.template, values)
        took.append(time.process_time() - begun)
    median = statistics.median(took[1:] or took)
    return blank("web page", work, "none", _PAGE, value=median * 1000, unit="ms", subject_took=span(median))


async def _change(sizes: Sizes, site: Site, plan: str) -> Figure:
    """Measure how long an open page is not told of an event that another program has appended."""
    took = []
    watched = PageChanges(site.where)
    async with watched.listen(frozenset({plan})) as listener:
        for number in range(100):  # the folders are not watched yet
            rig.append(site.where.root, range(number, number + 1), plan)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(listener.changed.wait(), 0.1)
                break
        await asyncio.sleep(0.5)
        listener.changed.clear()
        for number in range(100, 101 + sizes.rounds):
            begun = time.perf_counter()
            rig.append(site.where.root, range(number, number + 1), plan)
            async with asyncio.timeout(30):
                await listener.changed.wait()
            took.append(time.perf_counter() - begun)
            await asyncio.sleep(0.2)
            listener.changed.clear()
    median = statistics.median(took[1:] or took)
    work = "change of one of them until the open page is told"
    return blank("web change", work, "none", _CHANGE, value=median, unit="s", subject_took=span(median))


ROWS = (Row("web", measure),)
