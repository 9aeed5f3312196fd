"""Serve the requests of a running hook, within a limit that does not count the time that an agent works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Self

from prloom.api.context import Services
from prloom.extensions import jsonrpc
from prloom.extensions.host import interface
from prloom.extensions.host.interface import AgentRequest, EventsRead, EventsRequest, PlanRequest
from prloom.extensions.jsonrpc import RpcError
from prloom.model import record
from prloom.model.record import Json


class Deadline:
    """An async context that ends in TimeoutError once its limit is used up; then `over` is true."""

    def __init__(self, limit: timedelta) -> None:
        self._left = limit.total_seconds()
        self._timeout = asyncio.timeout(self._left)
        self._pauses = 0
        self._open = False

    @property
    def over(self) -> bool:
        """Whether it was this limit that was used up."""
        return self._timeout.expired()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        await self._timeout.__aexit__(kind, error, trace)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the limit for as long as this lasts; pauses may overlap."""
        self._pauses += 1
        if self._pauses == 1:
            self._pause_timeout()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._go_on()

    def _pause_timeout(self) -> None:
        due = self._timeout.when()
        if self._running() and due is not None:
            self._left = due - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def _go_on(self) -> None:
        if self._running():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _running(self) -> bool:
        return self._open and not self._timeout.expired()


class RunningCall:
    """A call that has not ended, with its services and its deadline, which is paused while an agent works."""

    def __init__(self, services: Services, deadline: Deadline) -> None:
        self.services = services
        self._deadline = deadline
        self._agents: set[asyncio.Task[object]] = set()

    async def answer(self, method: str, params: Json) -> Json:
        """Return what the hook's process requested; raises RpcError, whose text says why there is none."""
        try:
            return await self._answer(method, params)
        except RpcError:
            raise
        except Exception as error:
            raise RpcError(str(error) or type(error).__name__, jsonrpc.SERVICE_FAILED) from error

    async def run_agent(self, asked: AgentRequest) -> str:
        """Run an agent; it is ended with the call."""
        task = asyncio.current_task()
        if task is not None:
            self._agents.add(task)
        try:
            with self._deadline.paused():
                return await self.services.run_agent(
                    asked.prompt, files=asked.files, stage=asked.stage, model=asked.model
                )
        finally:
            if task is not None:
                self._agents.discard(task)

    def end(self) -> None:
        """End all work for the call: nothing waits for its result any more."""
        for task in self._agents:
            task.cancel()

    async def _answer(self, method: str, params: Json) -> Json:
        match method:
            case interface.RUN_AGENT:
                return await self.run_agent(record.from_wire(AgentRequest, params))
            case interface.READ_EVENTS:
                return await asyncio.to_thread(self._read_events, record.from_wire(EventsRequest, params))
            case interface.READ_PLAN:
                asked = record.from_wire(PlanRequest, params)
                return await asyncio.to_thread(self.services.read_plan, asked.plan_id)
            case _:
                raise RpcError(f"there is no method {method!r}", jsonrpc.METHOD_NOT_FOUND)

    def _read_events(self, asked: EventsRequest) -> EventsRead:
        events, last = self.services.read_events(types=asked.types, since_id=asked.since_id, limit=asked.limit)
        return EventsRead(events=tuple(events), last_id=last)
