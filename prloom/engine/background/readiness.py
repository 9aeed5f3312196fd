"""Ask a daemon whether it works: when it was started, until it listens and answers, and later for its health."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core.text import one_line
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import HEALTH_CHECK, DaemonClient
from prloom.extensions.background.process import DaemonProcess
from prloom.extensions.jsonrpc import METHOD_NOT_FOUND

_PAUSES = Backoff(initial=timedelta(milliseconds=10), maximum=timedelta(milliseconds=200))
"""Between two attempts to reach a daemon."""


async def problem_at_start(
    started: DaemonProcess, client: DaemonClient, limit: timedelta, answer_limit: timedelta
) -> str | None:
    """Wait until the daemon itself listens and answers; return why it does not within the limit, or None."""
    attempt, problem = 0, "it does not listen"
    try:
        async with asyncio.timeout(limit.total_seconds()):
            while True:
                found = await _problem(started, client, answer_limit)
                if found is None:
                    return None
                attempt, problem = attempt + 1, found
                await asyncio.sleep(backoff.doubled(_PAUSES, attempt).total_seconds())
    except TimeoutError:
        milliseconds = round(limit.total_seconds() * 1000)
        return f"it was not ready within {milliseconds} ms: {problem}"


async def _problem(started: DaemonProcess, client: DaemonClient, answer_limit: timedelta) -> str | None:
    try:
        peer = await client.first_answer(answer_limit)
    except CallError as error:
        return str(error)
    if peer is None or await asyncio.to_thread(started.owns, peer):
        return None
    await client.close()
    return f"process {peer}, which is not the daemon, listens at its socket"


async def health(client: DaemonClient, limit: timedelta) -> tuple[str | None, str | None]:
    """Return why a daemon is not healthy, if it is not; and what it says that does not work although it is."""
    try:
        result = await client.call(HEALTH_CHECK, {}, limit)
    except CallError as error:
        if error.code != METHOD_NOT_FOUND:
            return str(error), None
        return None, None
    match result:
        case {"problem": str(problem)} if problem.strip():
            return None, one_line.of(problem)
    return None, None
