"""Know what each run waits for that nobody has begun: a machine that does it, or an exchange that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from prloom.agents import run_message
from prloom.agents.run_message import RunMessage
from prloom.core.text.naming import printable
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.model.record import Timestamp
from prloom.model.work_report import RunWait

_SLOW: Final = 5.0  # seconds in which an exchange answers that can be reached
_UNTAKEN: Final = timedelta(seconds=30)  # by then, a pool of this machine has begun a run
_LONGEST: Final = 300
_AWAY: Final = "the exchange of the runs does not answer; prloom tries to reach it"
_NOT_TAKEN: Final = "no worker has taken the run yet"
_ELSEWHERE: Final = "; `prloom worker` on a machine that has the agent does"


class RunWaits:
    """Knows the runs that are published and that nobody has begun: `waiting`, by their ids.

    Who waits for the reply to a run takes it out.
    """

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.waiting: dict[str, RunWait] = {}
        self._clock = clock

    async def inspect(
        self, exchange: AsyncExchange, run: str, asked: RunMessage, *, slow: float = _SLOW
    ) -> MessageEntry:
        """Return the message of a run, and note what the run waits for; raises ExchangeError."""
        looking = asyncio.get_running_loop().create_task(exchange.inspect(run))
        try:
            await asyncio.wait([looking], timeout=slow)
            if not looking.done():
                self.waiting[run] = self._away(run, asked)
            entry = await looking
        finally:
            looking.cancel()
        self.waiting.pop(run, None)
        wait = wait_for_worker(entry, asked, self._clock())
        if wait is not None:
            self.waiting[run] = wait
        return entry

    def _away(self, run: str, asked: RunMessage) -> RunWait:
        """Return the wait for an exchange that does not answer, which may have begun earlier."""
        known = self.waiting.get(run)
        since = Timestamp.of(self._clock())
        if known is not None and known.reason == _AWAY:
            since = known.since
        return RunWait(reason=_AWAY, since=since, plan=asked.plan, todo=asked.todo)


def wait_for_worker(entry: MessageEntry, asked: RunMessage, now: datetime) -> RunWait | None:
    """Return the wait of a run that no worker has begun: others have refused it, or none has looked at it for long."""
    message, delivery = entry.message, entry.delivery
    if delivery.state != "ready":
        return None
    since, until, reason = message.created_at, None, _NOT_TAKEN
    if delivery.available_at is not None and entry.claims:
        reason = printable(f"no machine does the run yet; the last one said: {entry.claims[-1].error}", _LONGEST)
        until = Timestamp.of(delivery.available_at)
    else:
        since = max((claim.completed_at or claim.lease_until for claim in entry.claims), default=since)
        if now - since < _UNTAKEN:
            return None
        if message.topic != run_message.topic_here(asked.stage):
            reason += _ELSEWHERE
    return RunWait(reason=reason, since=Timestamp.of(since), until=until, plan=asked.plan, todo=asked.todo)
