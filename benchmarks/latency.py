"""How long an event takes that another program appends: to the hook, to the action that it causes, beside an agent."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import rig
from asyncinotify import Inotify, Mask
from harness import Figure, Measure, Row, Sizes, alternate, blank, compared, span

HOOK = """
import time

def register(ctx):
    @ctx.hook("beforeTriage")
    def seen(plan, triage):
        at = time.time()
        for event in triage.events:
            if event.body.startswith("agent"):
                continue
            with open(triage.repo_root / "seen", "a") as file:
                file.write(f"{event.id} {at}\\n")
            triage.emit_comment(event.reply_to, "Noted.")
            triage.mark_event_handled(event.id)
"""
AGENT = """
import pathlib, sys, time
sys.stdin.read()
pathlib.Path("agent-runs").touch()
time.sleep(600)
"""
_PAUSE = 0.03  # seconds between two events: the dispatcher is to be at rest
_PATIENCE = 120.0
_TICK = 0.25  # seconds; the poll interval where there is no file watch
_numbers = count(50_000_000)


def hooks(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until the hook is called, and until the action it asks for is on the disk."""
    root = rig.repository(folder / "repository", config="[bridges.local]\nenabled = false\n", hook=HOOK)
    with rig.started(root):
        to_hook(root)
        paired = alternate(partial(to_hook, root), partial(_to_reader, folder), sizes.latency_rounds, warm=5)
        work = "event appended by another process → hook called (p50)"
        yield Figure(
            "hook",
            work,
            "inotify reader",
            20,
            paired.subject * 1000,
            unit="ms",
            subject_took=span(paired.subject),
            yardstick_took=span(paired.yardstick),
        )
        flush = _flush(folder)
        paired = alternate(partial(_to_action, root), flush, sizes.latency_rounds, warm=5)
    work = "event appended → durable action line (p50)"
    yield compared(blank("action", work, "one write + fdatasync", 20), paired)


def without_watch(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until the hook is called where the kernel has no file watch left: the tick finds it."""
    config = f'[bridges.local]\nenabled = false\n[dispatcher]\ntick_interval = "{int(_TICK * 1000)}ms"\n'
    root = rig.repository(folder / "repository", config=config, hook=HOOK)
    with rig.started(root, *_watchless()):
        taken = [to_hook(root, pause=_PAUSE + number % 7 / 7 * _TICK) for number in range(sizes.latency_rounds + 1)]
    slow = statistics.quantiles(taken[1:], n=20)[-1] if len(taken) > 2 else taken[-1]  # noqa: PLR2004 - two are none
    work = "event appended → hook called, without inotify (p95)"
    figure = blank("tick", work, f"the poll interval, {_TICK:g} s", 1.2, value=slow / _TICK)
    yield replace(figure, row="hook without inotify", subject_took=span(slow))


def _watchless() -> tuple[str, ...]:
    """Return what runs a command where no inotify instance can be had, as where all are taken."""
    script = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'
    return ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")


# ---- beside an agent


def beside(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until the hook is called, of one plan's event while another plan's agent runs, and while none runs."""
    agent = folder / "agent.py"
    agent.write_text(AGENT)
    argv = json.dumps([sys.executable, str(agent)])
    config = f'[bridges.local]\nenabled = false\n[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n'
    plans = (rig.PLAN, "other")
    busy, calm = (rig.repository(folder / name, plans, config, hook=HOOK) for name in ("busy", "calm"))
    with rig.started(busy), rig.started(calm):
        _begin_agent(busy)
        paired = alternate(partial(to_hook, busy), partial(to_hook, calm), 2 * sizes.latency_rounds, warm=5)
    work = "other plans' events while one plan's agent runs: latency (p50)"
    figure = compared(blank("beside", work, "no agent running", 1.2), paired)
    yield replace(figure, value=paired.subject / paired.yardstick)


def _begin_agent(root: Path) -> None:
    data = {"id": "agent:1", "source": "bench", "type": "note", "body": "agent, please"}
    line = {"ts": "", "kind": "event", "schemaVersion": 1, "data": data}
    with (rig.bus(root, "other") / "events.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    end = time.monotonic() + _PATIENCE
    mark = root / "prloom/.local/worktrees/other/agent-runs"
    while not mark.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no agent began; see {root / 'log'}")
        time.sleep(0.05)


# ---- one event


def to_hook(root: Path, *, pause: float = _PAUSE) -> float:
    """Append one event and return how long it took until the hook was called."""
    number = next(_numbers)
    time.sleep(pause)
    begun = time.time()
    rig.append(root, range(number, number + 1))
    return _seen(root / "seen", f"github:comment:{number} ") - begun


def _seen(file: Path, wanted: str) -> float:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(0.001)
        if file.exists() and wanted in (text := file.read_text()):
            return float(text.split(wanted)[1].split()[0])
    raise TimeoutError(f"{wanted} did not reach the hook; see {file.parent / 'log'}")


def _to_action(root: Path) -> float:
    """Append one event and return how long it took until the action that it causes was on the disk."""
    number = next(_numbers)
    folder = rig.bus(root)
    wanted = f'"relatedEventId":"github:comment:{number}"'.encode()
    with Inotify() as watch:
        watch.add_watch(folder, Mask.MODIFY | Mask.CREATE)
        actions = folder / "actions.jsonl"
        time.sleep(_PAUSE)
        start = actions.stat().st_size if actions.exists() else 0
        begun = time.perf_counter()
        rig.append(root, range(number, number + 1))
        while time.perf_counter() < begun + _PATIENCE:
            if watch.sync_get() is None:
                continue
            if actions.exists() and actions.stat().st_size > start and _durable(actions, start, wanted):
                return time.perf_counter() - begun
    raise TimeoutError(f"no action of event {number}; see {root / 'log'}")


def _durable(actions: Path, start: int, wanted: bytes) -> bool:
    with actions.open("rb") as file:
        file.seek(start)
        if wanted not in file.read():
            return False
        os.fdatasync(file.fileno())
    return True


# ---- the yardsticks


def _to_reader(folder: Path) -> float:
    """Append a line in another process's stead, and return how long a thread that waits for it took to see it."""
    file = folder / "watched.jsonl"
    file.touch()
    seen: list[tuple[object, float]] = []
    with Inotify() as watch:
        watch.add_watch(file, Mask.MODIFY)
        reader = threading.Thread(target=lambda: seen.append((watch.sync_get(), time.time())))
        reader.start()
        time.sleep(_PAUSE)
        begun = time.time()
        with file.open("ab", buffering=0) as out:
            out.write(rig.lines(range(1))[0] + b"\n")
        reader.join()
    return seen[0][1] - begun


def _flush(folder: Path) -> Measure:
    line = rig.lines(range(1))[0] + b"\n"
    fd = os.open(folder / "flushed", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def flushed() -> float:
        time.sleep(_PAUSE)
        begun = time.perf_counter()
        os.write(fd, line)
        os.fdatasync(fd)
        return time.perf_counter() - begun

    return flushed


def can_be_watchless() -> bool:
    """Whether this machine lets us take the file watch away from a process."""
    return subprocess.run([*_watchless(), "true"], capture_output=True, check=False).returncode == 0


ROWS = (Row("latency", hooks), Row("latency without inotify", without_watch), Row("beside an agent", beside))
