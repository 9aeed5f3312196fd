"""A process that has imported what its forks need, and forks for each request; `command_server` asks for them.

As a program of its own it runs the command line of prloom. Other programs of the tests call `serve`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LEFT_OUT = ("prloom.testing", "prloom.exchange.postgres", "prloom.web")
"""What no command of a repository needs: it would import pytest, or a library that may not be there."""
NEEDED_LATER = (
    *("bridges.github", "bridges.local", "plugins.memory", "plugins.quiet_period", "plugins.wait_for_checks"),
    *("anyio._backends._asyncio", "filelock", "httpcore", "httpx", "jinja2", "markdown_it", "platformdirs", "yaml"),
)
"""What commands import where they use it. The bridges are loaded by each of them again; what these import is not."""


class _Server:
    """Forks for each request, and tells who asked how the process ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._asking: dict[int, socket.socket] = {}

    def serve(self) -> Mapping[str, Any] | None:
        """Answer requests; return twice: in each fork with its request, and at the end."""
        woken, wake = socket.socketpair()
        wake.setblocking(False)  # noqa: FBT003 - it takes no keyword
        woken.setblocking(False)  # noqa: FBT003
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        waiting = selectors.DefaultSelector()
        waiting.register(self._requests, selectors.EVENT_READ)
        waiting.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in waiting.select()}
            if woken in ready:
                woken.recv(1024)
                self._report_ended()
            if self._requests in ready:
                _, fds, _, _ = socket.recv_fds(self._requests, 1, 4)
                if not fds:
                    return None
                request = self._begin(*fds)
                if request is not None:
                    waiting.close()
                    woken.close()
                    wake.close()
                    return request

    def _begin(self, asking: int, *streams: int) -> Mapping[str, Any] | None:
        connection = socket.socket(fileno=asking)
        with connection.makefile("r") as lines:
            request: Mapping[str, Any] = json.loads(lines.readline())
        pid = os.fork()
        if pid:
            connection.sendall(f"{pid}\n".encode())
            self._asking[pid] = connection
            for stream in streams:
                os.close(stream)
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (self._requests, connection, *self._asking.values()):
            each.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return request

    def _report_ended(self) -> None:
        while self._asking:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._asking.pop(pid) as connection:
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def import_prloom() -> None:
    """Import all that a command of a repository may need."""
    import prloom  # noqa: PLC0415 - a program may have to prepare for it

    for module in pkgutil.walk_packages(prloom.__path__, "prloom."):
        if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in NEEDED_LATER:
        importlib.import_module(name)
    _prepare_records()


def _prepare_records() -> None:
    """Let msgspec look at the annotations of all records, as it does once in each process that uses them."""
    import msgspec  # noqa: PLC0415

    from prloom.model.record import Record  # noqa: PLC0415

    waiting = [msgspec.Struct]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if issubclass(kind, Record):
            with contextlib.suppress(TypeError, NameError):  # of a type that is not meant to be read
                msgspec.json.Decoder(kind)


def _become(request: Mapping[str, Any]) -> None:
    """Make this process the one that was asked for."""
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = request["argv"]
    sys.path[0] = request["cwd"]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115


def _run() -> int:
    try:
        if sys.argv[0] == "prloom":
            importlib.import_module("prloom.__main__").main()
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - as Python does where nobody has caught it
        traceback.print_exc()
    return 1


def _end(code: int) -> None:
    """End as Python does, but for the taking apart of all modules, which takes longer than a command."""
    threading._shutdown()  # type: ignore[attr-defined]  # Python itself calls it
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve(run: Callable[[], int]) -> None:
    """Answer requests until the tests end; each fork runs the function, and ends with its exit code."""
    gc.freeze()  # or each collection in a fork copies all pages
    request = _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    if request is not None:
        _become(request)
        _end(run())


def main() -> None:
    """Serve, and run prloom in each fork."""
    sys.path[0] = str(Path(__file__).parents[2])
    import_prloom()
    serve(_run)


if __name__ == "__main__":
    main()
