"""Send a page that is open a sign whenever it is out of date, as server-sent events: it then asks for itself again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.types import Receive, Scope, Send

from prloom.web import changes
from prloom.web.changes import PageChanges

MOST: Final = 40
"""Streams at a time; a page beyond them is told to ask later."""

BEAT: Final = 15.0
"""Seconds after which a silent stream sends a comment, so that both ends notice one that is dead."""

CHANGE: Final = b"event: change\ndata: {}\n\n"
_BEAT: Final = b": here\n\n"
_OPENED: Final = b"retry: 2000\n\n"
_HEADERS: Final = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


@dataclass(frozen=True)
class ChangeStream:
    """The response that lasts as long as its page is open. It keeps one sign at most, however slowly it is read."""

    watched: PageChanges
    parts: frozenset[str]
    beat: float = BEAT

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send signs until the browser goes away."""
        tasks = [asyncio.create_task(self._send(send)), asyncio.create_task(_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        async with self.watched.listen(self.parts) as listener:
            content = _OPENED
            while True:
                await send({"type": "http.response.body", "body": content, "more_body": True})
                content = await _next(listener, self.beat)


async def _next(listener: changes.PageListener, beat: float) -> bytes:
    """Return the next sign: that of a change, or after a while without one that of life."""
    try:
        async with asyncio.timeout(beat):
            await listener.changed.wait()
    except TimeoutError:
        return _BEAT
    await asyncio.sleep(changes.SETTLE)
    listener.changed.clear()
    return CHANGE


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
