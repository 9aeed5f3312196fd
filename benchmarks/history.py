"""What a long history costs: ticks, starts, saves and reads behind a million events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import rig
from harness import Figure, Measure, Row, Sizes, alternate, blank, compared, timed
from stage import Stage

from prloom.api import PluginContext, TriageContext
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.hook_services import HookServices
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.decision import Change

SEEN = """
import time

def register(ctx):
    @ctx.hook("beforeTriage")
    def seen(plan, triage):
        with open(triage.repo_root / "seen", "a") as file:
            for event in triage.events:
                triage.mark_event_handled(event.id)
                file.write(f"{event.id} {time.time()}\\n")
"""
_READS = 20
_SAVES = 20


def handle_all(ctx: PluginContext) -> None:
    """Register a hook that handles each event."""

    @ctx.hook("beforeTriage")
    def handled(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            triage.mark_event_handled(event.id)


def measure(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure everything that happens behind the same two histories, a long one and a short one."""
    many, few = (_made(folder / str(count), count) for count in (sizes.old, sizes.few))
    yield _ticks(sizes, many, few)
    yield _reads(sizes, many, few)
    yield _starts(sizes, many, few)
    yield _saves(sizes, _made(folder / "saved", sizes.saved), few)


def _made(root: Path, count: int) -> Path:
    rig.repository(root, seen=SEEN)
    rig.history(root, count)
    return root


# ---- a tick


def _ticks(sizes: Sizes, many: Path, few: Path) -> Figure:
    looping = rig.Looping()
    stages = [looping.run(_at_work(root)) for root in (many, few)]
    try:
        subject, yardstick = (partial(_tick, looping, *stage) for stage in stages)
        paired = alternate(subject, yardstick, sizes.latency_rounds, warm=3)
    finally:
        for _, dispatcher, _ in stages:
            looping.run(dispatcher._stop())  # noqa: SLF001 - a dispatcher's rounds, one by one, are no command's
        looping.close()
    work = f"tick with 10 new events behind {sizes.old:,} old ones"
    return compared(blank("tick", work, f"the same behind {sizes.few:,}", 1.1), paired)


async def _at_work(root: Path) -> tuple[Stage, Dispatcher, list[int]]:
    stage = Stage(root)
    stage.plugin("handler", handle_all)
    dispatcher = stage.dispatcher()
    await dispatcher.plugin_set.start()
    return stage, dispatcher, [10_000_000]


def _tick(looping: rig.Looping, stage: Stage, dispatcher: Dispatcher, numbers: list[int]) -> float:
    first = numbers[0]
    numbers[0] += 10
    rig.append(stage.root, range(first, first + 10))
    return float(looping.run(rig.one_round(dispatcher)))


# ---- reading


def _reads(sizes: Sizes, many: Path, few: Path) -> Figure:
    with rig.runtime(many) as long, rig.runtime(few) as short:
        subject, yardstick = (_read(runtime, count) for runtime, count in ((long, sizes.old), (short, sizes.few)))
        paired = alternate(subject, yardstick, sizes.rounds)
    work = f"`read_events(limit=50)` at the end of {sizes.old:,}"
    return compared(blank("read_events", work, f"the same of {sizes.few:,}", 1.2), paired)


def _read(runtime: PlanRuntime, count: int) -> Measure:
    services = HookServices(runtime, run=_no_agent, read_plan=str)
    since = rig.comments(range(count - 51, count - 50))[0].id

    def read() -> None:
        for _ in range(_READS):
            events, _last = services.read_events(types=None, since_id=since, limit=50)
            assert len(events) == 50, len(events)  # noqa: S101, PLR2004 - or nothing is measured

    return timed(read)


async def _no_agent(*asked: object) -> str:
    raise AssertionError(asked)


# ---- a start


def _starts(sizes: Sizes, many: Path, few: Path) -> Figure:
    numbers = iter(range(20_000_000, 30_000_000))
    subject, yardstick = (_start(root, numbers) for root in (many, few))
    paired = alternate(subject, yardstick, sizes.rounds)
    work = f"cold start to first handled event, {sizes.old:,} old events"
    return compared(blank("cold start", work, f"the same, {sizes.few:,}", 1.2), paired)


def _start(root: Path, numbers: Iterator[int]) -> Measure:
    def start() -> float:
        number = next(numbers)
        rig.append(root, range(number, number + 1))
        wanted = f"{rig.comments(range(number, number + 1))[0].id} "
        begun = time.time()
        with rig.started(root):
            return handled_at(root / "seen", wanted) - begun

    return start


def handled_at(seen: Path, wanted: str, *, patience: float = 60) -> float:
    """Wait until the plugin has written that it was shown an event, and return when that was."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if seen.exists() and wanted in (text := seen.read_text()):
            return float(text.split(wanted)[1].split()[0])
        time.sleep(0.002)
    raise TimeoutError(f"{wanted} was not handled within {patience} s; see {seen.parent / 'log'}")


# ---- a save


def _saves(sizes: Sizes, many: Path, few: Path) -> Figure:
    with rig.runtime(many) as long, rig.runtime(few) as short:
        paired = alternate(timed(_saving(long)), timed(_saving(short)), sizes.rounds)
    work = f"state save behind {sizes.saved:,} events"
    return compared(blank("save", work, f"behind {sizes.few:,}", 1.2), paired)


def _saving(runtime: PlanRuntime) -> Callable[[], None]:
    def save() -> None:
        for _ in range(_SAVES):
            changes = (Change(event_id="no", verdict="seen", state="handled"),)
            runtime.event_store.commit("beforeTriage", "bench", changes=changes)
            runtime.event_store.save()

    return save


ROWS = (Row("history", measure),)
