"""What it costs to catch up: a million new events, and ten thousand that a plugin handles one and all."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import rig
from harness import Figure, Measure, Row, Sizes, alternate, blank, compared
from stage import Stage

from prloom.api import Event
from prloom.engine.assembly.dispatcher import assemble
from prloom.engine.dispatcher import Dispatcher
from prloom.model import record
from prloom.model.decision import Change, Decision
from prloom.storage import envelope

_MEGABYTE = 1024 * 1024

HANDLER = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def handled(plan, triage):
        for event in triage.events:
            triage.mark_event_handled(event.id)
"""


class _Line(msgspec.Struct):
    """A line of `events.jsonl` as a typed decoder reads it."""

    ts: str
    kind: str
    data: Event


_decoder = msgspec.json.Decoder(_Line)


# ---- a million new events


def catch_up(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Have the repository's own bus take in events and be done with them, each durably; no plugin, no agent.

    The dispatcher runs in a process of its own, whose memory is looked at.
    """
    events = folder / "events.jsonl"
    rig.write_events(events, sizes.new)
    grown: list[float] = []
    subject = partial(_caught_up, folder / "repository", events, sizes.new, grown)
    paired = alternate(subject, partial(_decoded, events), sizes.rounds)
    work = f"catch-up on {sizes.new:,} new events: time"
    yield compared(blank("catch-up", work, "typed decode of the same file", 3), paired)
    work = f"catch-up on {sizes.new:,} new events: memory"
    yield Figure("catch-up memory", work, "before it", 100, max(grown), unit="MB", subject_took=f"{max(grown):.0f} MB")


def _caught_up(root: Path, events: Path, count: int, grown: list[float]) -> float:
    shutil.rmtree(root, ignore_errors=True)
    bus = root / "prloom/.local/bus"
    bus.mkdir(parents=True)
    os.link(events, bus / "events.jsonl")
    ended = subprocess.run(
        [sys.executable, __file__, str(root)], check=True, capture_output=True, text=True, env=rig.environ(root)
    )
    result = json.loads(ended.stdout)
    if result["done"] != count:
        raise AssertionError(result)
    grown.append(result["grown"])
    return float(result["seconds"])


def _child(root: Path) -> None:
    """Catch up, and tell how long that took and how much memory it needed at most beyond what was there before."""
    stage = Stage(root)
    stage.bridges = []
    dispatcher = stage.dispatcher()
    before, begun = _peak(), time.perf_counter()
    asyncio.run(dispatcher.once())
    seconds = time.perf_counter() - begun
    state = json.loads((root / "prloom/.local/bus/state/dispatcher.json").read_text())
    done = sum(state["done"].values())
    print(json.dumps({"seconds": seconds, "grown": _peak() - before, "done": done}))


def _peak() -> float:
    """Return the most memory that this process ever had, in megabytes."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def _decoded(file: Path) -> float:
    begun = time.perf_counter()
    count = 0
    with file.open("rb") as given:
        while block := given.readlines(_MEGABYTE):
            for line in block:
                _decoder.decode(line)
                count += 1
    return time.perf_counter() - begun


# ---- ten thousand through a plugin


def handled(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Have a plugin, in a process of its own, handle each of many events: from the journal to the last decision."""
    root = rig.repository(folder / "repository", handler=HANDLER)
    looping = rig.Looping()
    dispatcher = looping.run(_running(root))
    first = [0]
    try:
        yardstick = partial(_bare, folder, rig.lines(range(sizes.handled)))
        subject: Measure = partial(_drained, looping, dispatcher, root, sizes.handled, first)
        paired = alternate(subject, yardstick, sizes.rounds)
    finally:
        looping.run(dispatcher._stop())  # noqa: SLF001 - as in history.py
        looping.close()
    work = f"{sizes.handled:,} events through a plugin that handles each, durable"
    yield compared(blank("plugin", work, "decode, one decision, one flush", 4), paired)


async def _running(root: Path) -> Dispatcher:
    dispatcher = assemble(root, Stage(root).config, environ=rig.environ(root))
    await dispatcher.plugin_set.start()
    await rig.one_round(dispatcher)
    return dispatcher


def _drained(looping: rig.Looping, dispatcher: Dispatcher, root: Path, count: int, first: list[int]) -> float:
    for numbers in rig.slices(count, start=first[0]):
        rig.append(root, numbers)
    first[0] += count
    seconds: float = looping.run(rig.one_round(dispatcher))
    state = dispatcher.registry.runtimes[rig.PLAN].event_store.state
    if state.done.get("handled") != first[0] or state.open:
        raise AssertionError(dict(state.done), len(state.open))
    return seconds


def _bare(folder: Path, given: list[bytes]) -> float:
    """Decode the events, write one decision about all of them, and flush it once."""
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    begun = time.perf_counter()
    events = [_decoder.decode(line).data for line in given]
    changes = tuple(Change(event_id=event.id, verdict="handled", state="handled") for event in events)
    decision = Decision(seq=1, stage="beforeTriage", by="handler", changes=changes)
    os.write(fd, envelope.encode("decision", record.to_wire(decision), rig.AT) + b"\n")
    os.fdatasync(fd)
    seconds = time.perf_counter() - begun
    os.close(fd)
    return seconds


ROWS = (Row("catch-up", catch_up), Row("plugin", handled))

if __name__ == "__main__":
    _child(Path(sys.argv[1]))
