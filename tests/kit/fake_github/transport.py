"""The fake as an httpx transport: no socket, no waiting, and all the same faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx

from .exchange import Breakage, Host, Outcome, Request


class Body(httpx.AsyncByteStream, httpx.SyncByteStream):
    """The body of a response that ends too early."""

    def __init__(self, outcome: Breakage) -> None:
        self.outcome = outcome

    def __iter__(self) -> Iterator[bytes]:
        body = self.outcome.response.body if self.outcome.response else b""
        yield body[: len(body) // 2]
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


class Transport(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """Hands requests to the fake."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = read(request, request.read())
        self.host.enter(asked)
        try:
            return written(self.host.handle(asked), request)
        finally:
            self.host.leave(asked)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = read(request, await request.aread())
        self.host.enter(asked)
        try:
            await asyncio.sleep(0)  # whoever sends several requests at once is to be seen doing so
            return written(self.host.handle(asked), request)
        finally:
            self.host.leave(asked)


def read(request: httpx.Request, body: bytes) -> Request:
    headers = {name.lower(): text for name, text in request.headers.items()}
    return Request(request.method, str(request.url), headers, body)


def written(outcome: Outcome, request: httpx.Request) -> httpx.Response:
    """Return the response, or raise what httpx raises where none comes."""
    if not isinstance(outcome, Breakage):
        return httpx.Response(outcome.status, headers=dict(outcome.headers), content=outcome.body, request=request)
    if outcome.kind == "reset":
        raise httpx.ReadError("connection reset by peer", request=request)
    if outcome.kind == "timeout":
        raise httpx.ReadTimeout("nothing came", request=request)
    status = outcome.response.status if outcome.response else 200
    headers = dict(outcome.response.headers) if outcome.response else {}
    return httpx.Response(status, headers=headers, stream=Body(outcome), request=request)
