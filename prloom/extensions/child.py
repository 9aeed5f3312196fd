"""Control one plugin's process: start it, exchange messages with it, and end it with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from prloom import processes
from prloom.errors import ExtensionError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc.asyncio_peer import AnswerRequest, AsyncioPeer, OnNotification
from prloom.extensions.plugin_log import LineCutter, PluginLog
from prloom.model.record import Json

_ARGV = (sys.executable, "-P", "-m", "prloom.extensions.host.main")  # -P: no module is taken from the repository
_EXIT_WAIT = 0.2  # seconds for a process that closed its connection to end, and for its output to be read
_CHUNK = 16 * 1024


class Child:
    """A running process. Once it has ended, `how` says how, and requests raise ConnectionLostError."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        pipes: ProcessPipes,
        peer: AsyncioPeer,
        *,
        log: PluginLog,
        mark: str,
    ) -> None:
        self.how: str | None = None
        self.spared = False
        self._transport = transport
        self._pid = transport.get_pid()
        self._pipes = pipes
        self._peer = peer
        self._log = log
        self._mark = mark
        self._reason: str | None = None
        self._on_end: Callable[[Child], None] = lambda _: None
        self._ended = asyncio.Event()
        self._life = asyncio.create_task(self._live(), name=f"plugin process {self._pid}")

    async def request(self, method: str, params: Json) -> Json:
        """Send a request to the plugin; raises as AsyncioPeer.request does."""
        return await self._peer.request(method, params)

    def on_end(self, callback: Callable[[Child], None]) -> None:
        """Call the function when the process is gone."""
        self._on_end = callback

    async def end(self, reason: str, *, spared: bool = False) -> None:
        """Kill the process and all its descendants, and wait until they are gone; the reason is what `how` says.

        `spared`: it is not the process that is at fault.
        """
        if self._reason is None and self.how is None:
            self._reason, self.spared = reason, spared
        self._ended.set()
        await asyncio.shield(self._life)

    async def _live(self) -> None:
        """Read the process's messages until it ends, or is to end; then make sure that nothing of it is left."""
        try:
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._peer.serve())
                listening = group.create_task(self._listen())
                exited = group.create_task(self._pipes.exited.wait())
                ended = group.create_task(self._ended.wait())
                await asyncio.wait((reading, exited, ended), return_when=asyncio.FIRST_COMPLETED)
                if reading.done() and reading.result() is None and not ended.done():
                    await asyncio.wait((exited, ended), timeout=_EXIT_WAIT, return_when=asyncio.FIRST_COMPLETED)
                await self._kill()
                await exited
                await asyncio.wait((reading, listening), timeout=_EXIT_WAIT)
                broken = None
                if reading.done():
                    broken = reading.result()
                for task in (reading, listening, ended):
                    task.cancel()
            self.how = self._reason or broken or exit_text(self._transport.get_returncode())
        finally:
            self.how = self.how or "it was given up"
            self._on_end(self)
            self._peer.lose(self.how)
            if not self._pipes.exited.is_set():  # the loop is being torn down
                kill_all(self._pid, self._mark, exited=False)
            self._transport.close()
            self._log.settle()

    async def _kill(self) -> None:
        exited = self._pipes.exited.is_set()
        await asyncio.to_thread(kill_all, self._pid, self._mark, exited=exited)

    async def _listen(self) -> None:
        """Log what the process prints."""
        errors = self._pipes.stderr
        cutter = LineCutter()
        while errors is not None and (chunk := await errors.read(_CHUNK)):
            for line in cutter.feed(chunk):
                self._log.printed(line)
        for line in cutter.last():
            self._log.printed(line)


class ProcessPipes(SubprocessStreamProtocol):
    """The pipes of a process, and when it exited; no line that is read is longer than `limit` bytes.

    asyncio's own Process.wait() waits until the pipes are closed too, and a daemon may have inherited one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, limit: int) -> None:
        super().__init__(limit=limit, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        """Record that the process has ended."""
        super().process_exited()
        self.exited.set()


async def spawn(
    *, environ: Mapping[str, str], cwd: Path, log: PluginLog, answer: AnswerRequest, hear: OnNotification
) -> Child:
    """Start a plugin's process; raises ExtensionError where the machine refuses."""
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    loop = asyncio.get_running_loop()
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: ProcessPipes(loop, limit=jsonrpc.LIMIT),
            *_ARGV,
            env={**environ, MARK: mark},
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise ExtensionError(f"its process could not be started: {error}") from error
    if pipes.stdin is None or pipes.stdout is None:
        transport.close()
        raise ExtensionError("its process could not be started: it has no pipes")
    peer = AsyncioPeer(pipes.stdout, pipes.stdin, answer=answer, hear=hear)
    return Child(transport, pipes, peer, log=log, mark=mark)


def exit_text(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "it ended"
    if code >= 0:
        return f"it exited with status {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


MARK = "PRLOOM_HOST_ID"
"""The variable in a host's environment that identifies all its descendants."""

_ROUNDS = 3  # a process that is ended may have started another one just before
_PATIENCE = 10.0  # seconds for the reaper to end all that is below it
_PAUSE = 0.01


def kill_all(pid: int, mark: str, *, exited: bool) -> None:
    """Have the reaper `pid` end all that is below it; then kill what it may have missed because it was killed itself.

    That is its process group, the processes below it, and those that carry the mark in their environment. Of a reaper
    that has exited, the group may live on. Its number is given to no other process before the group is empty; so where
    there is such a process, there is no such group, and nothing but the mark counts.
    """
    exited = exited or _end_reaper(pid)
    below = []
    if not exited:
        below = processes.below(pid)
    if not (exited and psutil.pid_exists(pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    processes.kill(below)
    for _ in range(_ROUNDS):
        strays = processes.tagged(MARK, mark)
        if not strays:
            return
        processes.kill(strays)


def _end_reaper(pid: int) -> bool:
    """Have the reaper end all that is below it and itself, and wait for it; return whether it has ended."""
    reaper = processes.identity(pid)
    if reaper is None:
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    given_up = time.monotonic() + _PATIENCE
    while processes.alive(reaper):
        if time.monotonic() > given_up:
            return False
        time.sleep(_PAUSE)
    return True
