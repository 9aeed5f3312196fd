"""What `prloom web` and `prloom top` keep of a day: every five minutes something else waits in one of the plans."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import rig  # noqa: F401 - makes the modules of tests/kit importable
from harness import Figure, Row, Sizes, blank

from prloom.cli.context import Options
from prloom.config import loading
from prloom.model import record
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.top.actions import Operator
from prloom.top.app import TopApp
from prloom.web import render
from prloom.web.app import PAGES
from prloom.web.site import Query, Site

import git_folder  # isort: skip
from operator_scene import OperatorScene  # isort: skip

_PLANS = 30
_MOST = 8.0  # megabytes
_SCOPE = {"type": "http", "headers": [], "path": "/", "query_string": b""}


class Day:
    """A repository in which every five minutes other comments wait in one of the plans, and as many as before."""

    def __init__(self, root: Path) -> None:
        git_folder.make(root / ".git")
        self.scene = OperatorScene(root)
        self.changes = 0
        for number in range(_PLANS):
            self.scene.plan(f"pr-{number}", "- [ ] one\n- [x] two\n")

    def advance(self) -> str:
        """Let five minutes go by; return the plan in which something is new."""
        self.changes += 1
        plan = f"pr-{self.changes % _PLANS}"
        open_ = {
            f"e-{self.changes}-{n}": self.scene.event(f"e-{self.changes}-{n}", "held", author=f"a{self.changes}")
            for n in range(3)
        }
        file = self.scene.where.worktree(plan).joinpath(*paths.LOCAL, paths.BUS, paths.BUS_STATE, paths.DISPATCHER)
        file.write_text(json.dumps(record.to_builtins(DispatchState(open=open_))))
        return plan

    def clock(self) -> datetime:
        """Return the time of the day."""
        return self.scene.now + timedelta(minutes=5 * self.changes)


def measure(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure what is kept of the changes of a day, after the first hundred of them."""
    changes = 288 if sizes.rounds > 1 else 3
    yield _figure("web", Day(folder / "web"), changes, _pages)
    yield _figure("top", Day(folder / "top"), changes, _screen)


def _figure(name: str, day: Day, changes: int, look: Callable[[Day, int], Iterator[float]]) -> Figure:
    sizes = list(look(day, changes))
    first = sizes[min(100, len(sizes) - 1)]
    work = f"`prloom {name}` over a day of {changes:,} changes of {_PLANS} plans: memory that stays"
    return blank(f"memory {name}", work, f"{first:.1f} MB after 100", _MOST, value=sizes[-1] - first, unit="MB")


def _pages(day: Day, changes: int) -> Iterator[float]:
    """Have the pages of a site read at each change."""
    root = day.scene.root
    site = Site(day.scene.where, lambda: loading.load(root, {}), {}, day.clock)
    for _ in range(changes):
        plan = day.advance()
        for path, given in (("/", {}), ("/plans/{plan}", {"plan": plan})):
            found = PAGES[path](site, Query(given, {}))
            values = {"title": found.title, "it": found.value, "parts": found.parts, **found.more}
            render.page(_SCOPE, found.template, values)
        yield _resident()


def _screen(day: Day, changes: int) -> Iterator[float]:
    """Have the full screen read at each change."""

    async def shown() -> list[float]:
        where = day.scene.where
        app = TopApp(Operator(where, Options(str(where.root))), clock=day.clock)
        found = []
        async with app.run_test(size=(120, 40)) as pilot:
            for _ in range(changes):
                day.advance()
                await app.read()
                await pilot.pause()
                found.append(_resident())
        return found

    yield from asyncio.run(shown())


def _resident() -> float:
    """Return the memory of this process in megabytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / (1 << 20)


ROWS = (Row("memory", measure),)
