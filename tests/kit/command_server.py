"""Run prloom's command line in a process of its own that need not import it first: a fork of one that has.

Most of what a short command costs is the start of Python and its imports, and tests run a thousand of them. Each test
process has one server, which imports prloom once and forks for each command. The command has its own process,
environment, working folder, and standard streams, as if it were started anew.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import environment
import forked_command

PROGRAM = Path(__file__).with_name("command_server_process.py")
"""The server of prloom's own commands."""
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
    """The process that forks, as the tests see it; its program calls `command_server_process.serve`."""

    def __init__(self, env: Mapping[str, str], program: Path = PROGRAM) -> None:
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
        with Path(os.devnull).open("r+b") as nothing, os.fdopen(2, "wb", closefd=False) as errors:
            return _server("").begin(request, (requests, nothing, errors))
