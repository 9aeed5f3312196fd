"""Read, on an exchange that machines share, the results of those that had lost their run, and write them down."""

from __future__ import annotations

import logging
import platform
from pathlib import Path
from typing import Final

from prloom.agents import run_folder, run_message
from prloom.core.text import naming
from prloom.engine.bus import late_results
from prloom.engine.bus.late_results import LateResult
from prloom.engine.runs import live_output, run_end
from prloom.errors import AgentError, StorageError
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import Message
from prloom.exchange.worker.job import late_topic
from prloom.model.kinds import STAGES
from prloom.model.record import Timestamp

log = logging.getLogger(__name__)

_LONGEST: Final = 300


class LateReader:
    """Reads what came late on an exchange, from where it was before."""

    def __init__(self, exchange: AsyncExchange) -> None:
        self._exchange = exchange
        self._since: dict[str, str] = {}

    async def take(self) -> None:
        """Write down what is new for runs of this machine; raises ExchangeError."""
        for topic in (late_topic(run_message.topic(stage)) for stage in STAGES):
            try:
                while found := await self._next(topic):
                    await self._take(found)
                    self._since[topic] = found.id
            except UnknownMessageError:  # the last one was removed
                self._since.pop(topic, None)

    async def _next(self, topic: str) -> Message | None:
        """Return the next message of a topic: one at a time, for each may be long."""
        since, longest = self._since.get(topic), run_message.LONGEST_REPLY
        found = await self._exchange.read(topic=topic, since=since, limit=1, longest_body=longest)
        return next(iter(found), None)

    async def _take(self, message: Message) -> None:
        try:
            run = await self._exchange.message(message.parent_id or "")
        except UnknownMessageError:
            return
        folder = Path(str(run.metadata.get(run_message.FOLDER)))
        mine = run.metadata.get(run_message.MACHINE) == platform.node() and folder.name == run.id
        if mine and run_folder.read(folder, run_folder.MESSAGE, run_folder.LARGE) == run.body.encode():
            _write_down(folder, message)


def _write_down(folder: Path, message: Message) -> None:
    try:
        result = run_end.read(message).result
        status, text = result.status, result.error or result.message or ""
    except AgentError as error:
        status, text = "failed", str(error)
    machine = naming.printable(str(message.metadata.get(run_message.MACHINE)), live_output.LONGEST_NAME)
    late = LateResult(
        id=message.id,
        at=Timestamp.of(message.created_at),
        machine=machine,
        status=status,
        text=naming.printable(text, _LONGEST),
    )
    try:
        if late_results.add(folder, late):
            log.warning("run %s: the result of %s came late and is not used", folder.name, machine)
    except StorageError as error:
        log.info("run %s: a result that came late is not noted: %s", folder.name, error)
