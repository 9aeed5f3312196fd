"""One long-lived HTTP client for one bridge: requests in series, within limits, the token for one host only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

import httpx

from prloom.api.http import Answer, HttpError, HttpNeeds, Trouble
from prloom.model.record import Json
from prloom.transport import limits
from prloom.transport.limits import Limits

log = logging.getLogger(__name__)

TIMEOUT = timedelta(seconds=30)
LARGEST = 32 * 1024 * 1024
"""Bytes of an answer that are read; a larger one is refused."""
LONGEST_PAUSE = timedelta(seconds=5)
"""A longer pause than this is not slept through: the caller is told when to come again."""

_HOPS = 5
_READS = {"GET", "HEAD"}

Clock = Callable[[], datetime]
Sleep = Callable[[float], Awaitable[None]]


@dataclass
class Count:
    """Requests since the start: all, those that count against the server's limit, and what is left of that."""

    total: int = 0
    charged: int = 0
    remaining: int | None = None


class Client:
    """Implements `prloom.api.http.Http`."""

    def __init__(
        self,
        needs: HttpNeeds,
        token: str | None,
        *,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.count = Count()
        self._needs = needs
        self._base = needs.base_url.rstrip("/") + "/"
        self._token = token
        self._clock = clock
        self._sleep = sleep
        self._limits = Limits()
        self._turn = asyncio.Lock()
        self._http = httpx.AsyncClient(
            timeout=TIMEOUT.total_seconds(),
            follow_redirects=False,
            transport=transport,
            headers={"user-agent": "prloom", **needs.headers},
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: Json | None = None,
        etag: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; see `prloom.api.http.Http`."""
        async with self._turn:
            more = dict(headers or {}) | ({"if-none-match": etag} if etag else {})
            target = urljoin(self._base, url)
            for _ in range(_HOPS):
                answer = await self._send(method, target, body, more)
                if answer.status not in {301, 302, 303, 307, 308}:
                    return self._judged(method, answer)
                target = self._next_hop(method, answer)
            raise HttpError(f"{method} {_path(url)}: more than {_HOPS} redirects", trouble="unknown")

    async def _send(self, method: str, url: str, body: Json | None, headers: Mapping[str, str]) -> Answer:
        home = _origin(url) == _origin(self._base)
        if home:
            await self._wait(method)
        sent = {**headers, **({"authorization": f"Bearer {self._token}"} if home and self._token else {})}
        try:
            async with self._http.stream(method, url, json=body, headers=sent) as response:
                content = await _bounded(response)
        except httpx.HTTPError as error:
            raise HttpError(f"{method} {_path(url)}: {type(error).__name__}: {error}", trouble="unknown") from error
        answer = Answer(response.status_code, url, {k.lower(): v for k, v in response.headers.items()}, content)
        if home:
            self._learn(method, answer)
        return answer

    async def _wait(self, method: str) -> None:
        """Wait for our turn under the server's limits; where that takes long, say when to come again."""
        now = self._clock()
        until = limits.closed(self._limits, now)
        pause = timedelta() if until is None else until - now
        if method not in _READS:
            needs = self._needs
            between = timedelta(seconds=needs.pause)
            bounds = {"per_minute": needs.writes_per_minute, "per_hour": needs.writes_per_hour}
            pause = max(pause, limits.write_pause(self._limits, now, pause=between, **bounds))
        if pause > LONGEST_PAUSE:
            raise HttpError(
                f"the server's limit is reached; next try at {now + pause}", trouble="limited", retry_at=now + pause
            )
        if pause > timedelta():
            await self._sleep(pause.total_seconds())

    def _learn(self, method: str, answer: Answer) -> None:
        now = self._clock()
        self._limits = limits.learn(self._limits, answer.status, answer.headers, now)
        if method not in _READS:
            self._limits = limits.wrote(self._limits, now, per_hour=self._needs.writes_per_hour)
        self.count.total += 1
        self.count.charged += 0 if answer.unchanged else 1
        self.count.remaining = self._limits.remaining

    def _next_hop(self, method: str, answer: Answer) -> str:
        location = answer.headers.get("location")
        if method not in _READS and answer.status != 307 and answer.status != 308:  # noqa: PLR2004, PLR1714
            raise HttpError(
                f"{method} {_path(answer.url)}: redirected, and what writes follows none", trouble="unknown"
            )
        if not location:
            raise HttpError(f"{method} {_path(answer.url)}: redirected to nowhere", trouble="unknown")
        return urljoin(answer.url, location)

    def _judged(self, method: str, answer: Answer) -> Answer:
        if answer.status == 304 or 200 <= answer.status < 300:  # noqa: PLR2004 - the numbers are the names
            return answer
        until = limits.closed(self._limits, self._clock())
        trouble = _trouble(answer, limited=limits.limited(answer.status, answer.headers))
        text = answer.content[:500].decode("utf-8", "replace")
        raise HttpError(
            f"{method} {_path(answer.url)}: {answer.status}",
            trouble=trouble,
            status=answer.status,
            body=text,
            retry_at=until if trouble == "limited" else None,
        )


async def _bounded(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LARGEST:
            raise HttpError(f"{_path(str(response.url))}: the answer is larger than {LARGEST} bytes", trouble="unknown")
        parts.append(part)
    return b"".join(parts)


def _trouble(answer: Answer, *, limited: bool) -> Trouble:
    if limited:
        return "limited"
    match answer.status:
        case 401:
            return "unauthorized"
        case 403:
            return "forbidden"
        case 404 | 410:
            return "gone"
        case 400 | 405 | 409 | 422:
            return "refused"
        case _:
            return "unknown"


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _path(url: str) -> str:
    return urlsplit(url).path or "/"
