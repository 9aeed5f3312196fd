"""Run prloom's command line in a process of its own that need not import it first: a fork of one that has.

Most of what a short command costs is the start of Python and its imports, and tests run a thousand of them. Each test
process has one server, which imports prloom once and forks for each command. The command has its own process,
environment, working folder, and standard streams, as if it were started anew.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import environment
import forked_command

LEFT_OUT = ("prloom.testing", "prloom.exchange.postgres", "prloom.web")
"""What no command of a repository needs: it would import pytest, or a library that may not be there."""
NEEDED_LATER = (
    *("bridges.github", "bridges.local", "plugins.memory", "plugins.quiet_period", "plugins.wait_for_checks"),
    *("anyio._backends._asyncio", "filelock", "httpcore", "httpx", "jinja2", "markdown_it", "platformdirs", "yaml"),
)
"""What commands import where they use it. The bridges are loaded by each of them again; what these import is not."""

LIMIT = 240
"""Seconds that a command may take: on a machine that has much else to do, many times what it needs."""

Stream = IO[bytes] | socket.socket


def run(
    args: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str | None = None, limit: float = LIMIT
) -> subprocess.CompletedProcess[str]:
    """Run a command line of prloom to its end; raises TimeoutExpired, and kills it, where that takes too long."""
    return run_at(_server(env.get("PYTHONPATH", "")), ["prloom", *args], cwd=cwd, env=env, stdin=stdin, limit=limit)


def run_at(
    server: CommandServer,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str | None = None,
    limit: float = LIMIT,
) -> subprocess.CompletedProcess[str]:
    """Run a command line in a fork of a server, as `run` does."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((stdin or "").encode())
        given.seek(0)
        forked = server.begin(_request(command, cwd, env), (given, out, err))
        try:
            code = forked.wait(limit)
        except subprocess.TimeoutExpired as late:
            forked.kill()
            raise subprocess.TimeoutExpired(command, limit, _text(out), _text(err)) from late
        return subprocess.CompletedProcess(command, code, _text(out), _text(err))


def begin(args: Sequence[str], *, cwd: Path, env: Mapping[str, str], said: IO[bytes] | None = None) -> ForkedProcess:
    """Begin a command line of prloom; what it says goes into a file, if any."""
    with Path(os.devnull).open("r+b") as nothing:
        return begin_with(args, (nothing, said or nothing, said or nothing), cwd=cwd, env=env)


def begin_with(args: Sequence[str], streams: Sequence[Stream], *, cwd: Path, env: Mapping[str, str]) -> ForkedProcess:
    """Begin a command line of prloom with these standard streams."""
    return _server(env.get("PYTHONPATH", "")).begin(_request(["prloom", *args], cwd, env), streams)


def begin_on_terminal(args: Sequence[str], *, cwd: Path, env: Mapping[str, str], terminal: int) -> ForkedProcess:
    """Begin a command line of prloom on a terminal, of which it gets this end."""
    with open(terminal, "r+b", buffering=0) as screen:
        return _server(env.get("PYTHONPATH", "")).begin(_request(["prloom", *args], cwd, env), (screen, screen, screen))


def _request(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> dict[str, Any]:
    return {"argv": list(command), "cwd": str(cwd), "env": dict(env), "umask": _umask()}


def shell_command(folder: Path) -> tuple[dict[str, str], int]:
    """Make a `prloom` in a folder for scripts; return the variable that it needs, and the file that they inherit."""
    program = folder / "prloom"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {forked_command.__file__} "$@"\n')
    program.chmod(0o755)
    requests = _server("").requests
    return {forked_command.SERVER: str(requests)}, requests


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _server(build: str) -> CommandServer:
    """Return the server of a build, which PYTHONPATH says."""
    return _until_the_end(CommandServer({**os.environ, **({"PYTHONPATH": build} if build else {})}))


@cache
def server_of(program: Path, *, forked: bool = True) -> CommandServer:
    """Return the server that a program of the tests is. Forked, it has prloom imported, with no calls watched."""
    if forked:
        return _until_the_end(ForkedServer(environment.nested(), program))
    return _until_the_end(CommandServer(environment.nested(), program))


def _until_the_end(server: CommandServer) -> CommandServer:
    atexit.register(server.close)
    return server


class ForkedProcess:
    """A process of the server, which can be waited for and killed as one that subprocess started."""

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            line += self._answers.recv(1)
        return int(line)

    def poll(self) -> int | None:
        """Return the exit code, as subprocess has it; None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as there is one; raises TimeoutExpired."""
        if self.returncode is None:
            answers = select.poll()  # select itself takes no file whose number is above 1023
            answers.register(self._answers, select.POLLIN)
            if not answers.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = self._number()
            self._answers.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class CommandServer:
    """The process that forks, as the tests see it; its program calls `serve`."""

    def __init__(self, env: Mapping[str, str], program: Path = Path(__file__)) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = self._start(env, program, theirs)

    def _start(
        self, env: Mapping[str, str], program: Path, requests: socket.socket
    ) -> subprocess.Popen[bytes] | ForkedProcess:
        return subprocess.Popen(
            [sys.executable, str(program), str(requests.fileno())],
            env=dict(env),
            pass_fds=(requests.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def begin(self, request: Mapping[str, Any], streams: Sequence[Stream]) -> ForkedProcess:
        """Fork for a command with these standard streams."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._socket, [b"x"], [theirs.fileno(), *(stream.fileno() for stream in streams)])
        ours.sendall(f"{json.dumps(request)}\n".encode())
        return ForkedProcess(ours)

    @property
    def requests(self) -> int:
        """The number of the file by which a fork is asked for."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


class ForkedServer(CommandServer):
    """A server that is a fork of the server of prloom's commands, with what it has imported."""

    def _start(self, env: Mapping[str, str], program: Path, requests: socket.socket) -> ForkedProcess:
        request = _request([str(program), "0"], program.parent, env)  # its requests are its standard input
        with Path(os.devnull).open("r+b") as nothing:
            return _server("").begin(request, (requests, nothing, sys.__stderr__.buffer))


# ---- in the server


class _Server:
    """Forks for each request, and tells who asked how the process ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._asking: dict[int, socket.socket] = {}

    def serve(self) -> Mapping[str, Any] | None:
        """Answer requests; return twice: in each fork with its request, and at the end."""
        import selectors  # noqa: PLC0415 - the tests need none of it

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
                self._tell_of_the_dead()
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

    def _tell_of_the_dead(self) -> None:
        while self._asking:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._asking.pop(pid) as connection:
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def import_prloom() -> None:
    """Import all that a command of a repository may need."""
    import pkgutil  # noqa: PLC0415 - the tests need none of it

    import prloom  # noqa: PLC0415

    for module in pkgutil.walk_packages(prloom.__path__, "prloom."):
        if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in NEEDED_LATER:
        importlib.import_module(name)
    _prepare_records()


def _prepare_records() -> None:
    """Let msgspec look at the annotations of all records, as it does once in each process that uses them."""
    import msgspec  # noqa: PLC0415 - the tests need none of it

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
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve(run: Callable[[], int]) -> None:
    """Answer requests until the tests end; each fork runs the function, and ends with its exit code."""
    import gc  # noqa: PLC0415

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
