"""Publish agent runs on the exchange, and wait for what becomes of them."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from prloom import processes
from prloom.agents import run_ancestry, run_folder, run_message
from prloom.agents.agent import RunResult
from prloom.engine.runs import exchange_upkeep, live_output, run_end
from prloom.engine.runs.pool_process import Pool, StartPool
from prloom.engine.runs.run_end import RunEnd
from prloom.engine.runs.run_waits import RunWaits
from prloom.errors import AgentError
from prloom.exchange import validation
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.exchange.errors import ExchangeError
from prloom.exchange.message import Draft, Message, Metadata
from prloom.model.kinds import CHECK
from prloom.storage import paths

log = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 3.0
"""Seconds between two checks whether a run's worker, and the pool, are still there."""

_PRODUCER: Final = "prloom"


@dataclass(frozen=True)
class RunLoss:
    """Why no reply to a run will come: something happened to its folder, or its worker has died, alone or with all."""

    folder: str | None = None
    alone: bool = False


def address(root: Path, url: str) -> str:
    """Return the address that is configured (`[exchange] url`), or else the path of the repository's own exchange."""
    return url or os.fspath(root.joinpath(*paths.LOCAL, paths.EXCHANGE).absolute())


def is_shared(name: str) -> bool:
    """Whether workers on other machines can reach the exchange of this name."""
    return "://" in name


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
    So a dispatcher that finds a run in its state has it done again, and gets the reply that there is. Replies that were
    read are acknowledged, and what ended longer ago than `keep` is removed. `waits` knows what runs wait for.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        start_pool: StartPool,
        *,
        keep: timedelta | None = None,
        waits: RunWaits | None = None,
        check_interval: float = CHECK_INTERVAL,
    ) -> None:
        self._name = name
        self._workers = workers
        self._start_pool = start_pool
        self._keep = keep
        self._waits = waits or RunWaits()
        self._check_interval = check_interval
        self._exchange: AsyncExchange | None = None
        self._pool: Pool | None = None
        self._awaited: dict[str, asyncio.Future[Message]] = {}
        self._follower: asyncio.Task[None] | None = None
        self._upkeep: asyncio.Task[None] | None = None
        self._connect_lock = asyncio.Lock()

    async def start(self) -> None:
        """Open the exchange and start the pool, if that was not done yet; raises AgentError."""
        await self._opened()

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        """Have the run of a folder done, unless it was, and return what it came to; raises AgentError.

        `found` is a run that an earlier dispatcher has begun. If this is cancelled, so is the run.
        """
        unreadable = run_folder.problem(folder)
        if unreadable is not None:
            return run_end.of_result(run_end.lost(folder, unreadable))
        draft = _draft(folder, shared=is_shared(self._name))
        if draft is None:
            never = RunResult(status="interrupted", trouble="lost", error="the run was never published")
            return run_end.of_result(never)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._awaited[folder.name] = future
        try:
            exchange = await self._opened()
            (run,) = await exchange.publish_all([draft])
            async with self._output_kept(exchange, folder, run):
                reply = await self._reply(draft, future, found=found)
            if isinstance(reply, Message):
                return await run_end.of_reply(folder, draft, reply, exchange)
        except asyncio.CancelledError:
            await self.cancel(folder.name, "prloom stopped the run")
            raise
        except ExchangeError as error:
            raise AgentError(f"run {folder.name} cannot be done: {error}") from error
        finally:
            self._awaited.pop(folder.name, None)
            self._waits.waiting.pop(folder.name, None)
        if reply.folder is None:
            return run_end.of_result(await asyncio.to_thread(run_end.concluded, folder, draft, lost=reply.alone))
        await asyncio.to_thread(processes.clean_up, run_ancestry.RUN_VARIABLE, folder.name)
        return run_end.of_result(run_end.lost(folder, reply.folder))

    async def run(self, folder: Path, *, found: bool = False) -> RunResult:
        """Have the run of a folder done, and return its result alone; see `outcome`."""
        return (await self.outcome(folder, found=found)).reply.result

    async def cancel(self, run: str, reason: str) -> bool:
        """End a run that waits or goes on; return whether there was one."""
        try:
            exchange = await self._opened(pool=False)
            await exchange.acknowledge((await exchange.cancel(run, reason)).id)
        except (ExchangeError, AgentError):  # there is none, or it has ended
            return False
        return True

    async def close(self) -> None:
        """Have the pool end, and close the exchange; whoever needs them again opens them again."""
        for task in (self._follower, self._upkeep):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._follower = self._upkeep = None
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.end)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.close()

    async def _opened(self, *, pool: bool = True) -> AsyncExchange:
        """Return the exchange, opened, and with a pool that is alive."""
        async with self._connect_lock:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_connect, self._name)
                upkeep = exchange_upkeep.keep_up(
                    self._exchange, self._keep, producer=_PRODUCER, shared=is_shared(self._name)
                )
                self._upkeep = asyncio.get_running_loop().create_task(upkeep)
            if pool and (self._pool is None or not self._pool.alive()):
                if self._pool is not None:
                    log.warning("the processes that run agents have ended; prloom starts new ones")
                self._pool = await asyncio.to_thread(self._start_pool, self._name, self._workers)
            return self._exchange

    async def _reply(self, draft: Draft, future: asyncio.Future[Message], *, found: bool) -> Message | RunLoss:
        """Return the reply to a run that is published, or why there will be none."""
        exchange, asked = await self._opened(), run_message.read_message(draft.body)
        pool = self._pool
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
            if _worker_died(await self._waits.inspect(exchange, draft.id, asked)) and not future.done():
                alone = not found and pool is not None and pool is self._pool and pool.alive()
                if await self.cancel(draft.id, "the run's worker died"):
                    return RunLoss(alone=alone)
            await self._opened()

    @asynccontextmanager
    async def _output_kept(self, exchange: AsyncExchange, folder: Path, run: Message) -> AsyncIterator[None]:
        """Keep what a run prints, if another machine does it, until the block ends."""
        if not is_shared(self._name):
            yield
            return
        follower = asyncio.get_running_loop().create_task(live_output.follow(exchange, folder, run))
        try:
            yield
        finally:
            follower.cancel()
            with suppress(asyncio.CancelledError):
                await follower

    def _follow(self, exchange: AsyncExchange) -> None:
        """See to it that replies are waited for; by one task, however many runs there are."""
        if self._follower is None or self._follower.done():
            self._follower = asyncio.get_running_loop().create_task(self._take_replies(exchange))

    async def _take_replies(self, exchange: AsyncExchange) -> None:
        """Give each awaited run its reply, until none is awaited; what goes wrong is tried again at the next check."""
        with suppress(ExchangeError):
            async for reply in exchange.replies(lambda: self._awaited, longest_body=run_message.LONGEST_REPLY):
                with suppress(ExchangeError):  # it is removed later all the same
                    await exchange.acknowledge(reply.id)
                future = self._awaited.pop(reply.parent_id or "", None)
                if future is not None and not future.done():
                    future.set_result(reply)
                if not self._awaited:
                    return


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
