"""What daemons cost: an event on its way to one, many events to five, and ten that idle."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import psutil
import rig
from harness import Figure, Row, Sizes, alternate, blank, compared, span

from prloom.engine.background import event_sender
from prloom.engine.background.event_sender import EventSender
from prloom.model.activity import ActivityEvent
from prloom.testing import running_daemon
from prloom.testing.running_daemon import RunningDaemon

DAEMON = """
import json, os, socketserver, time

SEEN = []

class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            message = json.loads(line)
            if message["method"] == "on_event":
                SEEN.append(time.monotonic_ns())
                continue
            if "id" not in message:
                continue
            result = {"seen": len(SEEN), "last": SEEN[-1] if SEEN else None}
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            self.wfile.write(json.dumps(answer).encode() + b"\\n")

with socketserver.ThreadingUnixStreamServer(os.environ["PRLOOM_SOCKET_PATH"], Connection) as server:
    server.daemon_threads = True
    server.serve_forever()
"""
_TYPE = "TOOL_CALL_START"
_DATA = {"toolCallId": "t1", "toolName": "read_file", "arguments": {"path": "README.md"}}
_ROOM = 900
"""Events that may wait for a daemon while more are published: a queue drops the oldest beyond 1,000."""
_COUNT = 10_000
_IDLE = 10


def one_event(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Publish an event, and write the same line to the same daemon over a bare socket."""
    sent, bare = asyncio.run(_one_event(sizes, folder))
    work, yardstick = "event published → read by a daemon, added (p50)", "the same line over a bare socket"
    figure = blank("event-to-daemon", work, yardstick, 2, unit="ms", value=1000 * (sent - bare))
    yield replace(figure, subject_took=span(sent), yardstick_took=span(bare))


async def _one_event(sizes: Sizes, folder: Path) -> tuple[float, float]:
    async with _daemon(folder, "one") as daemon:
        _, writer = await asyncio.open_unix_connection(daemon.socket_path)
        line = event_sender.encode(_event(0))
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(2 * sizes.latency_rounds):
            await asyncio.sleep(0.005)
            begun = time.monotonic_ns()
            if number % 2:
                writer.write(line)
            else:
                daemon.publisher.publish(_event(number))
            found = await _seen(daemon, number + 1)
            taken[number % 2].append((found["last"] - begun) / 1e9)
        writer.close()
    return statistics.median(taken[0]), statistics.median(taken[1])


def many_events(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Publish events that five daemons have subscribed to, and write as many lines to five bare sockets."""
    count = _COUNT if sizes.rounds > 1 else 100
    loop = rig.Looping()
    stack = AsyncExitStack()
    daemons = [loop.run(stack.enter_async_context(_daemon(folder, f"many-{number}"))) for number in range(5)]
    try:
        subject, bare = partial(_publish, daemons, count), partial(_write, daemons, count)
        rounds = min(sizes.rounds, 5)
        paired = alternate(lambda: loop.run(subject()), lambda: loop.run(bare()), rounds)
    finally:
        loop.run(stack.aclose())
        loop.close()
    work = f"{count:,} events to five daemons"
    figure = blank("events-to-daemons", work, "a bare writer to five sockets, as a rate", 0.5, sense="at least")
    yield replace(compared(figure, paired), value=1 / paired.ratio)


async def _publish(daemons: Sequence[RunningDaemon], count: int) -> float:
    before = [(await each.call("state"))["seen"] for each in daemons]
    senders = [each.daemon.sender for each in daemons]
    begun = time.perf_counter()
    delivered = [sender.delivered for sender in senders]
    for number in range(count):
        event = _event(number)
        line = event_sender.encode(event)  # once, whoever gets it
        for sender in senders:
            sender.add(line)
        full = partial(_is_full, senders, delivered, number)
        while full():  # noqa: ASYNC110 - the senders take their turns in between
            await asyncio.sleep(0)
    await _all_seen(daemons, before, count)
    return time.perf_counter() - begun


def _is_full(senders: Sequence[EventSender], delivered: Sequence[int], number: int) -> bool:
    """Whether so many events wait for a daemon that it would miss the next one."""
    return any(number - (sender.delivered - was) >= _ROOM for sender, was in zip(senders, delivered, strict=True))


async def _write(daemons: Sequence[RunningDaemon], count: int) -> float:
    before = [(await each.call("state"))["seen"] for each in daemons]
    opened = [(await asyncio.open_unix_connection(each.socket_path))[1] for each in daemons]
    begun = time.perf_counter()
    for number in range(count):
        line = event_sender.encode(_event(number))
        for writer in opened:
            writer.write(line)
            await writer.drain()
    await _all_seen(daemons, before, count)
    taken = time.perf_counter() - begun
    for writer in opened:
        writer.close()
    return taken


async def _all_seen(daemons: Sequence[RunningDaemon], before: Sequence[int], count: int) -> None:
    for each, was in zip(daemons, before, strict=True):
        await _seen(each, was + count)


async def _seen(daemon: RunningDaemon, count: int) -> dict[str, int]:
    """Return what a daemon says once it has seen so many events."""
    while (found := await daemon.call("state"))["seen"] < count:  # noqa: ASYNC110 - another process counts
        await asyncio.sleep(0.001)
    return cast("dict[str, int]", found)


def idle(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Look at what daemons that have nothing to do take of a core, with all that prloom does for them."""
    share = asyncio.run(_idle(sizes, folder))
    work = f"{_IDLE} idle daemons for {sizes.rest:g} s: share of a core"
    yield blank("idle-daemons", work, "-", 0.5, unit="%", value=share)


async def _idle(sizes: Sizes, folder: Path) -> float:
    async with AsyncExitStack() as stack:
        for number in range(_IDLE):
            await stack.enter_async_context(_daemon(folder, f"idle-{number}"))
        await asyncio.sleep(sizes.rest / 10)
        own = psutil.Process()
        processes = [own, *own.children(recursive=True)]
        before = _used(processes)
        await asyncio.sleep(sizes.rest)
        return 100 * (_used(processes) - before) / sizes.rest


def _used(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def plugin(folder: Path, code: str, **more: object) -> Path:
    """Write a background plugin whose daemon is `code`, with `more` of its manifest."""
    folder.mkdir(parents=True)
    background = {"command": "python3", "args": ["daemon.py"], "events": [_TYPE], "shutdown_grace_period": 500}
    (folder / "plugin.json").write_text(json.dumps({"name": folder.name, "background": background, **more}))
    (folder / "daemon.py").write_text(code)
    return folder


@asynccontextmanager
async def _daemon(folder: Path, name: str) -> AsyncIterator[RunningDaemon]:
    async with running_daemon.run(plugin(folder / name, DAEMON)) as running:
        await running.call("state")  # which waits until prloom knows how it wants its connections
        yield running


def _event(number: int) -> ActivityEvent:
    return ActivityEvent(
        id=f"run-1:{number}",
        seq=number,
        type=_TYPE,
        plan_id="pr-7",
        run_id="run-1",
        timestamp=1_780_000_000_000,
        data=_DATA,
    )


ROWS = (
    Row("event to daemon", one_event),
    Row("events to daemons", many_events),
    Row("idle daemons", idle),
)
