"""What daemons that misbehave cost the others: the hook of another plugin, and that of another plan."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import latency
import rig
from daemons import DAEMON, plugin
from harness import Figure, Row, Sizes, alternate, blank, compared

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


def beside(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until another plugin's hook is called while daemons misbehave, and while there are none."""
    config = "[bridges.local]\nenabled = false\n"
    odd, calm = (rig.repository(folder / name, config=config, hook=latency.HOOK) for name in ("odd", "calm"))
    for name, code in MISBEHAVING.items():
        plugin(odd / "prloom/plugins" / name, code)
    enabled = ", ".join(f'"{name}"' for name in ("hook", *MISBEHAVING))
    (odd / "prloom.toml").write_text(f"[plugins]\nenabled = [{enabled}]\n{config}")
    work = "event → another plugin's hook while five daemons misbehave: latency (p50)"
    with rig.started(odd), rig.started(calm):
        yield _latencies(sizes, odd, calm, blank("beside-daemons", work, "no daemons", 1.2))


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
        plugin(odd / "prloom/plugins" / name, code, provides_hooks=["beforeTriage"])
    (odd / "prloom.toml").write_text(f"[plugins]\nenabled = {json.dumps(['hook', *MISBEHAVING_IN_HOOKS])}\n{config}")
    for plan in plans:
        rig.choose_preset(odd, plan, plan)
    work = "event → hook of one plan while five daemons misbehave for other plans: latency (p50)"
    with rig.started(odd), rig.started(calm), _events_of_other_plans(odd, calm):
        yield _latencies(sizes, odd, calm, blank("plans-beside-daemons", work, "as many events, and no daemons", 1.2))


def _latencies(sizes: Sizes, odd: Path, calm: Path, figure: Figure) -> Figure:
    """Return the figure with what an event takes to the hook of both repositories, in turn."""
    for root in (odd, calm):
        latency.to_hook(root)
    paired = alternate(partial(latency.to_hook, odd), partial(latency.to_hook, calm), 2 * sizes.latency_rounds, warm=5)
    return replace(compared(figure, paired), value=paired.subject / paired.yardstick)


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


ROWS = (
    Row("beside daemons", beside),
    Row("plans beside daemons", beside_plan),
)
