"""Control one daemon's process: start it, read what it prints, and end it with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from prloom import processes
from prloom.errors import ExtensionError
from prloom.extensions import child
from prloom.extensions.child import ProcessPipes
from prloom.model.record import Record
from prloom.processes import Process

_LAUNCHER = (sys.executable, "-P", "-m", "prloom.extensions.background.launcher")  # -P: as in prloom.extensions.child
_CHUNK = 64 * 1024
_RATE = 1024 * 1024
"""Bytes in a second that are read of what a daemon prints: what floods its log waits, and the dispatcher does not."""
_EXIT_WAIT = 0.2  # seconds for what an ended process printed to be read
_REPORT_LIMIT = 20.0  # seconds for the launcher, on a machine that is busy


class DaemonIds(Record, frozen=True, kw_only=True):
    """What a later dispatcher recognises a daemon by: its reaper, the daemon itself, and the mark of all below them."""

    reaper: Process | None
    daemon: Process | None
    mark: str


class DaemonProcess:
    """A running daemon. Once it has ended, `how` says how."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: ProcessPipes, *, mark: str) -> None:
        self.how: str | None = None
        self._transport = transport
        self._pipes = pipes
        self._mark = mark
        self._reaper = transport.get_pid()
        self._reaper_identity = processes.identity(self._reaper)
        self._daemon: Process | None = None

    @property
    def ids(self) -> DaemonIds:
        """What the daemon can be recognised by after a crash of the dispatcher."""
        return DaemonIds(reaper=self._reaper_identity, daemon=self._daemon, mark=self._mark)

    @property
    def pid(self) -> int | None:
        """The daemon's process id."""
        if self._daemon is None:
            return None
        return self._daemon.pid

    @property
    def exited(self) -> bool:
        """Whether the daemon has ended."""
        return self._pipes.exited.is_set()

    async def wait(self) -> str:
        """Wait until the daemon has ended, by itself or otherwise; return how, in words."""
        await self._pipes.exited.wait()
        self.how = child.exit_text(self._transport.get_returncode())
        return self.how

    async def log(self, sink: Callable[[bytes], None]) -> None:
        """Give all that the daemon prints to a function, until it has ended."""
        output = self._pipes.stdout
        while output is not None and (chunk := await output.read(_CHUNK)):
            sink(chunk)
            await asyncio.sleep(len(chunk) / _RATE)

    def owns(self, pid: int) -> bool:
        """Return whether a process is the daemon or was started by it."""
        return pid == self.pid or any(each.pid == pid for each in processes.below(self._reaper))

    async def stop(self, grace: timedelta) -> None:
        """Send SIGTERM to the daemon, and after the grace SIGKILL to all that it started; wait until it is gone."""
        if not self.exited and self._daemon is not None and processes.alive(self._daemon):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._daemon.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._pipes.exited.wait(), grace.total_seconds())
        await self.kill()

    async def kill(self) -> None:
        """Kill all that is left of the daemon, and wait until it is gone."""
        await asyncio.to_thread(child.kill_all, self._reaper, self._mark, exited=self.exited)
        await self._pipes.exited.wait()

    def kill_now(self) -> None:
        """Kill all that is left, in a loop that is being torn down."""
        child.kill_all(self._reaper, self._mark, exited=self.exited)

    def close(self) -> None:
        """Close the pipes."""
        self._transport.close()

    async def learn_pid(self, report: asyncio.StreamReader) -> None:
        """Read the daemon's process id; raises ExtensionError where the launcher fails."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REPORT_LIMIT):
                line = await report.readline()
                if line.strip().isdigit():
                    self._daemon = processes.identity(int(line))
                    return
        raise ExtensionError("its process could not be started: its launcher ended at once")


async def spawn(program: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> DaemonProcess:
    """Start a daemon; raises ExtensionError where that fails. The first of `program` is an absolute path."""
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: ProcessPipes(loop, limit=_CHUNK),
            *(*_LAUNCHER, str(writing), *program),
            env={**environ, child.MARK: mark},
            cwd=cwd,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
            pass_fds=(writing,),
        )
    except OSError as error:
        os.close(reading)
        raise ExtensionError(f"its process could not be started: {error}") from error
    finally:
        os.close(writing)
    started = DaemonProcess(transport, pipes, mark=mark)
    report = asyncio.StreamReader()
    source, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(report), os.fdopen(reading, "rb"))
    try:
        await started.learn_pid(report)
    except BaseException:
        started.kill_now()
        started.close()
        raise
    finally:
        source.close()
    return started


async def end_left(ids: DaemonIds) -> bool:
    """End what a dispatcher that crashed has left of a daemon; return whether there was any.

    A process counts only if it is the very one: another that has its number by now is left alone.
    """
    left = [process for process in (ids.reaper, ids.daemon) if process is not None and processes.alive(process)]
    for process in left:
        if process == ids.reaper:
            await asyncio.to_thread(child.kill_all, process.pid, ids.mark, exited=False)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    await asyncio.to_thread(processes.clean_up, child.MARK, ids.mark)
    return bool(left)
