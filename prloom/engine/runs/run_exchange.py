"""Publish agent runs on the exchange, and wait for what becomes of them."""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from prloom import processes
from prloom.agents import environment, registry, run_folder, run_message, runner
from prloom.agents.agent import RunResult
from prloom.agents.run_folder import RunInProgress
from prloom.agents.run_message import RunReply
from prloom.core.text import naming
from prloom.engine.runs import exchange_name
from prloom.engine.runs.pool_process import Pool, StartPool
from prloom.errors import AgentError
from prloom.exchange import validation
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.exchange.errors import ExchangeError
from prloom.exchange.message import Draft, Message, Metadata
from prloom.model.kinds import CHECK

log = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 3.0
"""Seconds between two checks whether a run's worker, and the pool, are still there."""

_PAUSE: Final = 0.02
_LONGEST_END: Final = 60.0  # seconds that a worker may need to end a run whose message was cancelled
_PRODUCER: Final = "prloom"
_LONGEST_NAME: Final = 100


@dataclass(frozen=True)
class RunEnd:
    """What a run came to, and the other machine that has done it, if one has."""

    reply: RunReply
    machine: str | None = None


@dataclass(frozen=True)
class RunLoss:
    """Why no reply to a run will come: something happened to its folder, or its worker has died, alone or with all."""

    folder: str | None = None
    alone: bool = False


class RunExecutor(Protocol):
    """Does runs that are prepared, each once."""

    async def start(self) -> None:
        """Make sure that runs can be done now; raises AgentError where they cannot."""

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        """Have the run of a folder done, unless it was, and return what it came to; raises AgentError."""

    async def cancel(self, run: str, reason: str) -> bool:
        """End a run that waits or goes on; return whether there was one."""

    async def close(self) -> None:
        """End all runs that go on, and what does them."""


class RunExchange:
    """Has runs done by the workers of an exchange: opened at the first run, with a pool of this machine's workers.

    A run's message has the run's id as its own, and as its key: however often a run is published, it is one message.
    So a dispatcher that finds a run in its state has it done again, and gets the reply that there is.
    """

    def __init__(
        self, name: str, workers: int, start_pool: StartPool, *, check_interval: float = CHECK_INTERVAL
    ) -> None:
        self._name = name
        self._workers = workers
        self._start_pool = start_pool
        self._check_interval = check_interval
        self._exchange: AsyncExchange | None = None
        self._pool: Pool | None = None
        self._awaited: dict[str, asyncio.Future[Message]] = {}
        self._follower: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def start(self) -> None:
        """Open the exchange and start the pool, if that was not done yet; raises AgentError."""
        await self._opened()

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        """Have the run of a folder done, unless it was, and return what it came to; raises AgentError.

        `found` is a run that an earlier dispatcher has begun. If this is cancelled, so is the run.
        """
        unreadable = run_folder.problem(folder)
        if unreadable is not None:
            return _end(_lost(folder, unreadable))
        draft = _draft(folder, shared=exchange_name.is_shared(self._name))
        if draft is None:
            return _end(RunResult(status="interrupted", trouble="lost", error="the run was never published"))
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._awaited[folder.name] = future
        try:
            reply = await self._reply(draft, future, found=found)
        except asyncio.CancelledError:
            await self.cancel(folder.name, "prloom stopped the run")
            raise
        except ExchangeError as error:
            raise AgentError(f"run {folder.name} cannot be done: {error}") from error
        finally:
            self._awaited.pop(folder.name, None)
        if isinstance(reply, Message):
            return await _result(folder, draft, reply)
        if reply.folder is None:
            return _end(await asyncio.to_thread(_concluded, folder, draft, lost=reply.alone))
        await asyncio.to_thread(processes.clean_up, environment.RUN_VARIABLE, folder.name)
        return _end(_lost(folder, reply.folder))

    async def run(self, folder: Path, *, found: bool = False) -> RunResult:
        """Have the run of a folder done, and return its result alone; see `outcome`."""
        return (await self.outcome(folder, found=found)).reply.result

    async def cancel(self, run: str, reason: str) -> bool:
        """End a run that waits or goes on; return whether there was one."""
        try:
            exchange = await self._opened(pool=False)
            await exchange.cancel(run, reason)
        except (ExchangeError, AgentError):  # there is none, or it has ended
            return False
        return True

    async def close(self) -> None:
        """Have the pool end, and close the exchange; whoever needs them again opens them again."""
        if self._follower is not None:
            self._follower.cancel()
            with suppress(asyncio.CancelledError):
                await self._follower
            self._follower = None
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.end)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.close()

    async def _opened(self, *, pool: bool = True) -> AsyncExchange:
        """Return the exchange, opened, and with a pool that is alive."""
        async with self._opening:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_connect, self._name)
            if pool and (self._pool is None or not self._pool.alive()):
                if self._pool is not None:
                    log.warning("the processes that run agents are gone; prloom starts new ones")
                self._pool = await asyncio.to_thread(self._start_pool, self._name, self._workers)
            return self._exchange

    async def _reply(self, draft: Draft, future: asyncio.Future[Message], *, found: bool) -> Message | RunLoss:
        """Publish a run and return the reply, or why there will be none."""
        exchange = await self._opened()
        pool = self._pool
        await exchange.publish_all([draft])
        self._follow(exchange)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._check_interval):
                    return await asyncio.shield(future)
            self._follow(exchange)
            gone = run_folder.loss(Path(str(draft.metadata[run_message.FOLDER])))
            if gone is not None:
                await self.cancel(draft.id, f"the run's folder {gone}")
                return RunLoss(folder=gone)
            if _worker_died(await exchange.inspect(draft.id)) and not future.done():
                alone = not found and pool is not None and pool is self._pool and pool.alive()
                if await self.cancel(draft.id, "the run's worker died"):
                    return RunLoss(alone=alone)
            await self._opened()

    def _follow(self, exchange: AsyncExchange) -> None:
        """See to it that replies are waited for; by one task, however many runs there are."""
        if self._follower is None or self._follower.done():
            self._follower = asyncio.get_running_loop().create_task(self._take_replies(exchange))

    async def _take_replies(self, exchange: AsyncExchange) -> None:
        """Give each awaited run its reply, until none is awaited; what goes wrong is tried again at the next check."""
        with suppress(ExchangeError):
            async for reply in exchange.replies(lambda: self._awaited):
                future = self._awaited.pop(reply.parent_id or "", None)
                if future is not None and not future.done():
                    future.set_result(reply)
                if not self._awaited:
                    return


def _lost(folder: Path, problem: str) -> RunResult:
    return RunResult(status="failed", trouble="lost", error=f"the run's folder {folder} {problem}")


def _connect(name: str) -> AsyncExchange:
    from prloom.exchange import connect_async  # noqa: PLC0415 - commands that run nothing need no store

    try:
        return connect_async(name)
    except ExchangeError as error:
        raise AgentError(f"the exchange of the runs cannot be opened: {error}") from error


def _draft(folder: Path, *, shared: bool) -> Draft | None:
    """Return the message of the run of a folder; None where the folder has none.

    On an exchange that is shared, a run without a commit is for this machine only.
    """
    body = run_folder.read(folder, run_folder.MESSAGE, run_folder.LARGE)
    try:
        asked = run_message.read_message((body or b"").decode())
    except (AgentError, UnicodeDecodeError):
        return None
    topic = run_message.topic(asked.stage)
    if shared and asked.commit is None and asked.stage != CHECK:
        topic = run_message.topic_here(asked.stage)
    metadata: Metadata = {
        run_message.RUN: folder.name,
        run_message.FOLDER: str(folder),
        run_message.MACHINE: platform.node(),
    }
    return Draft(
        id=folder.name,
        key=folder.name,
        topic=topic,
        body=run_message.encode(asked),
        producer=_PRODUCER,
        metadata=metadata,
    )


def _worker_died(entry: MessageEntry) -> bool:
    """Whether the worker that has a message is one of this machine, and is no more."""
    if entry.delivery.state != "leased":
        return False
    process = validation.process_of(entry.claims[-1].worker_instance_id)
    return process is not None and not processes.living(process)


async def _result(folder: Path, draft: Draft, reply: Message) -> RunEnd:
    """Return what a reply says that a run came to."""
    if reply.topic not in {f"{draft.topic}.completed", f"{draft.topic}.failed"}:
        return _end(await asyncio.to_thread(_ended, folder, draft))
    try:
        read = run_message.read_reply(reply.body)
    except AgentError as error:
        return _end(RunResult(status="failed", trouble="lost", error=str(error)))
    machine = reply.metadata.get(run_message.MACHINE)
    if not isinstance(machine, str):
        return RunEnd(read)
    await asyncio.to_thread(_write_down, folder, read)
    return RunEnd(read, naming.printable(machine, _LONGEST_NAME))


def _write_down(folder: Path, reply: RunReply) -> None:
    """Write what a run on another machine came to, and what its agent printed, into its folder here."""
    with suppress(OSError):  # it is for people, and for the activity
        run_folder.write_result(folder, reply.result)
        if reply.output is not None:
            try:
                run_folder.replace(folder, run_folder.OUTPUT, run_message.unpacked_output(reply.output))
            except AgentError as error:
                log.warning("run %s: %s", folder.name, error)


def _end(result: RunResult) -> RunEnd:
    return RunEnd(RunReply(result=result))


def _ended(folder: Path, draft: Draft) -> RunResult:
    """Return what a run came to that was cancelled, when its agent has ended, too."""
    given_up = time.monotonic() + _LONGEST_END
    while isinstance(run_folder.inspect(folder), RunInProgress) and time.monotonic() < given_up:
        time.sleep(_PAUSE)
    return _concluded(folder, draft, lost=False)


def _concluded(folder: Path, draft: Draft, *, lost: bool) -> RunResult:
    """Return what a run came to, by its folder, after the end of all that it has left running."""
    state = run_folder.inspect(folder)
    if not isinstance(state, run_folder.RunFinished):
        processes.clean_up(environment.RUN_VARIABLE, folder.name)
    asked = run_message.read_message(draft.body)
    return runner.conclude(folder, registry.runnable(asked.agent), state, lost=lost)
