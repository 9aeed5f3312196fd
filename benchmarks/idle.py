"""What it costs when nothing happens: ticks of many plans, and polls of many pull requests."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import rig
from appending import CountingDisk
from fake_github import STRICT, Clock, Hub
from harness import Figure, Row, Sizes, alternate, blank, compared
from history import handle_all
from rig import one_round
from stage import Stage

from bridges.github.settings import Config as GithubConfig
from prloom.api import BridgeContext, TrackedPlan
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.file_watcher import FileWatcher
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.work.todo_worker import TodoWorker
from prloom.extensions import bridges
from prloom.testing.bridge_scene import MemoryFiles
from prloom.transport.client import Client

_TICKS = 20
_TODOS = 10
_SETTLED = 3  # seconds, after which a folder's time says whether it has changed
_LONGEST_START = 60  # looks, which take some seconds each
_QUIET = 0.1  # of a core: less than this, and all that a start brings is done
_ROOT = Path(__file__).parents[1]


# ---- a tick


def tick(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Tick where nothing is new, in a real repository, with the file watch on."""
    plans = [f"plan-{number}" for number in range(max(sizes.plans))]
    root = rig.repository(folder / "repository", plans)
    for plan in plans:
        rig.append(root, range(1), plan)
    yield from _tick(sizes, root, plans, "idle tick", f"idle tick of {len(plans)} plans")


def completed(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Tick where all TODOs of all plans are done, with a worker that could do more."""
    plans = [f"plan-{number}" for number in range(max(sizes.plans))]
    root = rig.repository(folder / "repository", plans)
    for plan in plans:
        text = "# Plan\n\n## TODO\n" + "".join(f"- [x] Do {n} <!-- prloom:todo t-{n} -->\n" for n in range(_TODOS))
        (rig.bus(root, plan).parent / "plan.md").write_text(text)
        rig.append(root, range(1), plan)
    yield from _tick(sizes, root, plans, "idle completed", f"idle tick of {len(plans)} completed plans")


def _tick(sizes: Sizes, root: Path, plans: list[str], row: str, work: str) -> Iterator[Figure]:
    looping = rig.Looping()
    disk = CountingDisk()
    dispatcher = looping.run(_at_rest(root, disk))
    files = [os.fspath(rig.bus(root, plan) / "events.jsonl") for plan in plans]
    try:
        paired = alternate(partial(_ticks, looping, dispatcher), partial(_stats, files), sizes.rounds)
        opened, flushed = looping.run(_touched(dispatcher, disk))
    finally:
        looping.run(dispatcher._stop())  # noqa: SLF001
        looping.close()
    yield compared(blank(row, work, f"{len(plans)} `os.stat`", 2), paired)
    yield Figure(f"{row} touches", f"{work}: files opened and flushes", "count", 0, opened + flushed, unit="")
    share = 100 * paired.subject  # of a second, which is how often a tick is
    yield Figure(f"{row} share", f"{work}: share of a core", "a tick each second", 1, share, unit="%")


async def _at_rest(root: Path, disk: CountingDisk) -> Dispatcher:
    stage = Stage(root)
    stage.disk = disk
    stage.bridges = []
    stage.plugin("handler", handle_all)
    pool = AgentPool(root=root, environ=rig.environ(root), parallel=1, workers=1)
    stage.todo_worker = TodoWorker(pool)
    dispatcher = stage.dispatcher()
    await dispatcher.plugin_set.start()
    dispatcher._watcher = FileWatcher()  # noqa: SLF001
    for _ in range(3):
        await one_round(dispatcher)
        stage.clock.advance(seconds=10)
    flushed = -1
    while flushed != disk.flushes:  # what waits in each plan is written down in one tick after the other
        flushed = disk.flushes
        await one_round(dispatcher)
    await asyncio.sleep(_SETTLED)
    await one_round(dispatcher)
    return dispatcher


def _ticks(looping: rig.Looping, dispatcher: Dispatcher) -> float:
    return float(looping.run(_ticking(dispatcher))) / _TICKS


async def _ticking(dispatcher: Dispatcher) -> float:
    """Tick as `run` does: with the question when something is due next."""
    begun = time.perf_counter()
    for _ in range(_TICKS):
        dispatcher._run_tick()  # noqa: SLF001
        dispatcher._seconds_until_due()  # noqa: SLF001
    return time.perf_counter() - begun


def _stats(files: list[str]) -> float:
    begun = time.perf_counter()
    for _ in range(_TICKS):
        for file in files:
            os.stat(file)  # noqa: PTH116 - the yardstick is the call itself
    return (time.perf_counter() - begun) / _TICKS


async def _touched(dispatcher: Dispatcher, disk: CountingDisk) -> tuple[int, int]:
    """Return how many files idle ticks opened, and how many flushes they made."""
    seen: list[object] = []
    listening = [True]
    sys.addaudithook(lambda event, args: seen.append(args[0]) if listening[0] and event == "open" else None)
    before = disk.flushes
    for _ in range(_TICKS):
        dispatcher._run_tick()  # noqa: SLF001
    listening[0] = False
    return len(seen), disk.flushes - before


# ---- a dispatcher


def dispatcher(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Count the processor's time that a whole dispatcher takes at rest, as people start it, with every plan's file."""
    plans = [f"plan-{number}" for number in range(max(sizes.plans))]
    root = rig.repository(folder / "repository", plans)
    with rig.started(root) as process:
        at_work = psutil.Process(process.pid)
        for _ in range(_LONGEST_START):
            if _used(at_work, max(sizes.rest / 10, 0.5)) <= _QUIET:
                break
        share = 100 * _used(at_work, sizes.rest)
    work = f"idle dispatcher of {len(plans)} plans and their `review.md`: share of a core"
    yield Figure("idle dispatcher", work, "-", 1, share, unit="%")


def _used(process: psutil.Process, seconds: float) -> float:
    """Return the share of a core that a process uses from now on for so long."""
    before = sum(process.cpu_times()[:2])
    time.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / seconds


# ---- a poll


def poll(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Count the requests of an idle poll of GitHub, for many pull requests and for one."""
    many, one = (asyncio.run(_polled(count)) for count in (sizes.pulls, 1))
    work = f"idle poll, {sizes.pulls} pull requests: requests"
    yield Figure("idle poll", work, f"1 pull request: {one[0]}", 4, max(many[0], one[0]), unit="")
    same = abs(many[0] - one[0])
    yield Figure("idle poll difference", f"{work} more than for 1", "count", 0, same, unit="")
    yield Figure("idle poll charged", f"idle poll, {sizes.pulls} pull requests: charged", "count", 0, many[1], unit="")


async def _polled(count: int) -> tuple[int, int]:
    """Return the most requests that one idle poll made, and how many of all were charged."""
    clock = Clock()
    hub = Hub(clock, limits=STRICT)
    github = GithubConfig(repo="ada/engine", api_url=hub.api_url).model_dump()
    loaded = bridges.load({"github": github, "local": {"enabled": False}}, repo_root=_ROOT)
    bridge: Any = loaded.loaded[0].bridge

    async def sleep(seconds: float) -> None:
        clock.now += timedelta(seconds=seconds)

    client = Client(bridge.http, hub.token("ada"), clock=clock, sleep=sleep, transport=hub.transport())
    plans = tuple(
        TrackedPlan(f"pr-{pull.number}", "topic", Path("/repo/w"), MemoryFiles(), pull.number)
        for pull in (hub.pull() for _ in range(count))
    )
    state, totals, charged = None, [], []
    for _ in range(40):
        clock.now += timedelta(minutes=1)
        polled = await bridge.events(BridgeContext(Path("/repo"), plans, clock.now, http=client), state)
        state = polled.state
        totals.append(client.usage.total)
        charged.append(client.usage.charged)
    settled = 20
    steps = [after - before for before, after in zip(totals[settled:], totals[settled + 1 :], strict=False)]
    return max(steps), charged[-1] - charged[settled]


ROWS = (
    Row("idle tick", tick),
    Row("idle completed", completed),
    Row("idle dispatcher", dispatcher),
    Row("idle poll", poll),
)
