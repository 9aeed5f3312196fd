"""A daemon that does what each of its modes says: `python odd_daemon.py MODE…`; it uses the standard library only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

MODES = frozenset(sys.argv[1:])
PATH = os.environ["PRLOOM_SOCKET_PATH"]
RECORD = Path(os.environ.get("PLUGIN_CONFIG_RECORD", os.devnull))
COUNT = {"health": 0}


def note(text: str) -> None:
    """Write down what happened, for the test to read."""
    with RECORD.open("a") as file:
        file.write(text + "\n")


def answer(request: dict[str, object]) -> bytes:
    method, number = request.get("method"), request.get("id")
    if number is None:
        note(json.dumps(request))
        return b""
    if method == "health_check":
        COUNT["health"] += 1
        if "unhealthy-later" in MODES and COUNT["health"] > 2:
            return line(number, error={"code": -32000, "message": "not well"})
        if "no-health-method" in MODES:
            return line(number, error={"code": -32601, "message": "no such method"})
        if "half-works" in MODES:
            return line(number, result={"status": "ok", "problem": "no mail\x1b\ngoes out"})
        return line(number, result={"status": "ok"})
    return special(str(method), number, request.get("params"))


def special(method: str, number: object, params: object) -> bytes:
    if method == "exit":
        os._exit(3)
    answers: dict[str, Callable[[], bytes]] = {
        "echo": lambda: line(number, result=params),
        "garbage": lambda: b"this is no JSON\n",
        "nothing": lambda: b"",
        "much": lambda: line(number, result="and more") + b'{"jsonrpc":"2.0","method":"more"}\n' * 3000,
        "environment": lambda: line(number, result=dict(os.environ)),
    }
    unknown = line(number, error={"code": -32601, "message": f"there is no method {method}"})
    return answers.get(method, lambda: unknown)()


def line(number: object, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, **more}).encode() + b"\n"


def serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rwb") as stream:
        for each in stream:
            request = json.loads(each)
            if request.get("method") == "close":
                return
            said = answer(request)
            if "no-newline" in MODES:
                said = said.rstrip(b"\n")
            stream.write(said)
            stream.flush()
            if MODES & {"one-request", "no-newline"}:
                return


def leave_an_orphan() -> None:
    """Start a process that has another parent, session and environment, so that nothing shows whose it is."""
    child = os.fork()
    if child == 0:
        os.setsid()
        orphan = os.fork()
        if orphan == 0:
            os.execve("/bin/sleep", ["sleep", "1000"], {})
        note(f"orphan {orphan}")
        os._exit(0)
    os.waitpid(child, 0)


def main() -> None:
    if "ignore-sigterm" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "grandchild" in MODES:
        started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        note(f"grandchild {started.pid}")
    if "orphan" in MODES:
        leave_an_orphan()
    if "flood" in MODES:
        threading.Thread(target=lambda: [print("x" * 1000) for _ in iter(int, 1)], daemon=True).start()
    if "exit-early" in MODES:
        print("cannot go on")
        sys.exit(4)
    if "never-bind" in MODES:
        time.sleep(1000)
    if "bind-late" in MODES:
        time.sleep(0.3)
    note(f"started {os.getpid()}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(PATH)
        listening.listen()
        print("listening", flush=True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


main()
