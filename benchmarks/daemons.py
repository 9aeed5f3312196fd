"""What daemons cost: an event on its way to one, many events to five, ten that idle, and those that misbehave."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import latency
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
MISBEHAVING = {
    "never-binds": "import time; time.sleep(1000)",
    "exits-early": "raise SystemExit(3)",
    "floods": f"""
import threading
threading.Thread(target=lambda: [print("x" * 1000) for _ in iter(int, 1)], daemon=True).start()
{DAEMON}""",
    "does-not-read": """
import os, socket, time
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(os.environ["PRLOOM_SOCKET_PATH"])
    listening.listen()
    opened, _ = listening.accept()
    opened.recv(4096)
    opened.sendall(b'{"jsonrpc":"2.0","id":1,"result":null}\\n')
    time.sleep(1000)
""",
    "answers-garbage": """
import os, socketserver
class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"no JSON\\n")
with socketserver.ThreadingUnixStreamServer(os.environ["PRLOOM_SOCKET_PATH"], Connection) as server:
    server.serve_forever()
""",
}
HOOKED = """
import json, os, socket, socketserver, threading, time

def on_hook(stream):
    {on_hook}

def at_start():
    {at_start}

class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            message = json.loads(line)
            result = on_hook(self.wfile) if message["method"] == "run_hook" else {{}}
            if "id" in message:
                answer = {{"jsonrpc": "2.0", "id": message["id"], "result": result}}
                self.wfile.write(json.dumps(answer).encode() + b"\\n")

with socketserver.ThreadingUnixStreamServer(os.environ["PRLOOM_SOCKET_PATH"], Connection) as server:
    server.daemon_threads = True
    threading.Thread(target=at_start, daemon=True).start()
    server.serve_forever()
"""
"""A daemon that does one thing when it is called for a hook, and another from its start on."""
MISBEHAVING_IN_HOOKS = {
    "hangs": ("time.sleep(1000)", "pass"),
    "exits": ("os._exit(3)", "pass"),
    "answers-halves": ('stream.write(b"no JSON\\n"); stream.flush(); time.sleep(0.3)', "pass"),
    "marks-others": ('return {"marks": [{"eventId": "nobody", "verdict": "handled"}]}', "pass"),
    "requests": (
        "return {}",
        """
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["PRLOOM_HOST_SOCKET"])
        with line.makefile("rw") as stream:
            requests = [("hello", {"token": os.environ["PRLOOM_HOST_TOKEN"]})]
            for number in range(10 ** 9):
                requests.append(("get_context", {"plan_id": "requests"}))
                requests.append(("set_state", {"plan_id": "requests", "key": "a", "value": "x" * (number % 100_000)}))
                for method, params in requests:
                    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                    stream.write(json.dumps(request) + "\\n")
                    stream.flush()
                    stream.readline()
                requests.clear()
""",
    ),
}
"""What they do when they are called for a hook, and from their start on; each has a plan of its name."""
_BETWEEN_EVENTS = 0.2
"""Seconds between two events of the plans whose hooks misbehave."""
_TYPE = "TOOL_CALL_START"
_DATA = {"toolCallId": "t1", "toolName": "read_file", "arguments": {"path": "README.md"}}
_ROOM = 900
"""Events that may wait for a daemon while more are published: a queue drops the oldest beyond 1,000."""
_COUNT = 10_000
_IDLE = 10


def one_event(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Publish an event, and write the same line to the same daemon over a bare socket."""
    asyncio.run(_one_event(sizes, folder, into := []))
    added, sent, bare = into
    work, yardstick = "event published → read by a daemon, added (p50)", "the same line over a bare socket"
    figure = blank("event-to-daemon", work, yardstick, 2, unit="ms", value=1000 * added)
    yield Figure(**{**latency.vars_of(figure), "subject_took": span(sent), "yardstick_took": span(bare)})


async def _one_event(sizes: Sizes, folder: Path, into: list[float]) -> None:
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
    sent, bare = statistics.median(taken[0]), statistics.median(taken[1])
    into += [sent - bare, sent, bare]


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
    figure = compared(figure, paired)
    yield Figure(**{**latency.vars_of(figure), "value": 1 / paired.ratio})


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
    return found


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


def beside(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until another plugin's hook is called while daemons misbehave, and while there are none."""
    config = "[bridges.local]\nenabled = false\n"
    odd, calm = (rig.repository(folder / name, config=config, hook=latency.HOOK) for name in ("odd", "calm"))
    for name, code in MISBEHAVING.items():
        _plugin(odd / "prloom/plugins" / name, code)
    enabled = ", ".join(f'"{name}"' for name in ("hook", *MISBEHAVING))
    (odd / "prloom.toml").write_text(f"[plugins]\nenabled = [{enabled}]\n{config}")
    with rig.started(odd), rig.started(calm):
        for root in (odd, calm):
            latency.to_hook(root)
        paired = alternate(
            partial(latency.to_hook, odd), partial(latency.to_hook, calm), 2 * sizes.latency_rounds, warm=5
        )
    work = "event → another plugin's hook while five daemons misbehave: latency (p50)"
    figure = compared(blank("beside-daemons", work, "no daemons", 1.2), paired)
    yield Figure(**{**latency.vars_of(figure), "value": paired.subject / paired.yardstick})


def beside_plan(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until a hook is called for one plan while daemons misbehave for others, and while there are none."""
    presets = {
        plan: [name for name in MISBEHAVING_IN_HOOKS if name != plan] for plan in (rig.PLAN, *MISBEHAVING_IN_HOOKS)
    }
    tables = [f"[presets.{plan}.plugins]\ndisabled = {json.dumps(names)}\n" for plan, names in presets.items()]
    permitted = "[plugins.permissions.requests]\naccess_context = true\n"
    config = f'hook_timeout = "1s"\n{permitted}{"".join(tables)}[bridges.local]\nenabled = false\n'
    plans = tuple(presets)
    odd, calm = (rig.repository(folder / name, plans, config, hook=latency.HOOK) for name in ("odd", "calm"))
    for name, (on_hook, at_start) in MISBEHAVING_IN_HOOKS.items():
        code = HOOKED.format(on_hook=on_hook, at_start=at_start)
        _plugin(odd / "prloom/plugins" / name, code, provides_hooks=["beforeTriage"])
    (odd / "prloom.toml").write_text(f"[plugins]\nenabled = {json.dumps(['hook', *MISBEHAVING_IN_HOOKS])}\n{config}")
    for plan in plans:
        rig.choose_preset(odd, plan, plan)
    with rig.started(odd), rig.started(calm), _events_of_other_plans(odd, calm):
        for root in (odd, calm):
            latency.to_hook(root)
        paired = alternate(
            partial(latency.to_hook, odd), partial(latency.to_hook, calm), 2 * sizes.latency_rounds, warm=5
        )
    work = "event → hook of one plan while five daemons misbehave for other plans: latency (p50)"
    figure = compared(blank("plans-beside-daemons", work, "as many events, and no daemons", 1.2), paired)
    yield Figure(**{**latency.vars_of(figure), "value": paired.subject / paired.yardstick})


@contextmanager
def _events_of_other_plans(*roots: Path) -> Iterator[None]:
    """Append an event to one of the other plans now and then until the block ends: their hooks never rest."""
    over = threading.Event()

    def append() -> None:
        for number, plan in zip(itertools.count(10_000_000), itertools.cycle(MISBEHAVING_IN_HOOKS), strict=False):
            for root in roots:
                rig.append(root, range(number, number + 1), plan)
            if over.wait(_BETWEEN_EVENTS):
                return

    thread = threading.Thread(target=append)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _plugin(folder: Path, code: str, **more: object) -> Path:
    folder.mkdir(parents=True)
    background = {"command": "python3", "args": ["daemon.py"], "events": [_TYPE], "shutdown_grace_period": 500}
    (folder / "plugin.json").write_text(json.dumps({"name": folder.name, "background": background, **more}))
    (folder / "daemon.py").write_text(code)
    return folder


@asynccontextmanager
async def _daemon(folder: Path, name: str) -> AsyncIterator[RunningDaemon]:
    async with running_daemon.run(_plugin(folder / name, DAEMON)) as running:
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
    Row("beside daemons", beside),
    Row("plans beside daemons", beside_plan),
)
