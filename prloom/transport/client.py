"""One long-lived HTTP client for one bridge: requests in series, within limits, the token for one host only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

import httpx

from prloom.api.http import Answer, HttpError, HttpNeeds, Trouble
from prloom.core.text import time_text
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.record import Json
from prloom.transport import limits, limits_store
from prloom.transport.body import ACCEPTED, TooLargeError, UnreadableError, read
from prloom.transport.limits import Bounds, RequestUsage
from prloom.transport.limits_store import LimitsStore

TIMEOUT = timedelta(seconds=30)
"""How long the next piece of an answer may take."""
WHOLE = timedelta(seconds=120)
"""How long an answer may take from its question to its end."""
LARGEST = 32 * 1024 * 1024
"""Bytes of an answer that are read; a larger one is refused."""
LONGEST_PAUSE = timedelta(seconds=5)
"""A longer pause than this is not slept through: the error says when the caller may try again."""

_HOPS = 5
_READS = {"GET", "HEAD"}
_REDIRECTS = {301, 302, 303, 307, 308}
_SAME_METHOD = {307, 308}
_BODY = 2000  # bytes of an error's answer that are kept

Clock = Callable[[], datetime]
Sleep = Callable[[float], Awaitable[None]]


class Client:
    """Implements `prloom.api.http.Http`. Raises PrloomError for a token that no header can hold.

    The server's limits are kept in `store` for the process after this one.
    """

    def __init__(
        self,
        needs: HttpNeeds,
        token: str | None,
        *,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        store: LimitsStore | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.usage = RequestUsage()
        self._base = needs.base_url.rstrip("/") + "/"
        self._token = _checked_token(token)
        self._clock = clock
        self._sleep = sleep
        self._bounds = Bounds(
            timedelta(seconds=needs.pause), needs.points_per_minute, needs.writes_per_minute, needs.writes_per_hour
        )
        self._store = store
        stored = None
        if store is not None:
            stored = store.load()
        self._limits = limits_store.load(stored, self._base, self._clock(), most=needs.writes_per_hour)
        self._last_time = clock()
        self._saved_blocks = limits.blocks(self._limits)
        self._resources: dict[str, str] = {}
        self._one_at_a_time = asyncio.Lock()
        logging.getLogger("httpx").setLevel(logging.WARNING)  # its INFO has whole URLs, and some of those are secrets
        self._http = httpx.AsyncClient(
            timeout=TIMEOUT.total_seconds(),
            follow_redirects=False,
            transport=transport,
            headers={"user-agent": "prloom", "accept-encoding": ACCEPTED, **needs.headers},
        )

    def renew(self, token: str) -> None:
        """Use another token from now on; raises PrloomError for one that no header can hold."""
        self._token = _checked_token(token)

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
        more = dict(headers or {})
        if etag:
            more["if-none-match"] = etag
        async with self._one_at_a_time:
            target = _joined(method, self._base, url)
            for _ in range(_HOPS):
                answer = await self._send(method, target, body, more)
                if answer.status not in _REDIRECTS:
                    return self._answer_or_error(method, answer)
                target = self._next_hop(method, answer)
            raise HttpError(f"{method} {_path(url)}: more than {_HOPS} redirects", trouble="unknown")

    async def _send(self, method: str, url: str, body: Json | None, headers: Mapping[str, str]) -> Answer:
        """Send one request. What belongs to the bridge's own host is for no other: token, headers, counts, limits."""
        if not self._is_home(url):
            return await self._fetch(method, url, None, {})
        await self._wait(method, url)
        write = method not in _READS
        self.usage.total += 1
        self._limits = limits.after_request(self._limits, self._clock(), self._bounds, write=write)
        if write:
            self._save_limits()  # before it goes out: after a crash now, nothing says when it arrived
        if self._token:
            secret = {"authorization": f"Bearer {self._token}"}
        else:
            secret = {}
        try:
            answer = await self._fetch(method, url, body, {**headers, **secret})
        finally:
            if write:
                self._limits = limits.after_write(self._limits, self._clock())
                self._save_limits()
        self._note_answer(answer)
        return answer

    async def _fetch(self, method: str, url: str, body: Json | None, headers: Mapping[str, str]) -> Answer:
        try:
            async with (
                asyncio.timeout(WHOLE.total_seconds()),
                self._http.stream(method, url, json=body, headers=headers) as response,
            ):
                assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - the client is one
                whole = await read(response.stream, response.headers.get("content-encoding", ""), LARGEST)
        except TooLargeError:
            raise HttpError(f"{_path(url)}: the answer is larger than {LARGEST} bytes", trouble="unknown") from None
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            httpx.StreamError,
            UnreadableError,
            TimeoutError,
            ValueError,
        ) as error:
            text = self._without_token(f"{method} {_path(url)}: {type(error).__name__}: {error}")
            raise HttpError(text, trouble="unknown") from None  # the cause may quote what it was about to send
        return Answer(response.status_code, url, {k.lower(): v for k, v in response.headers.items()}, whole)

    async def _wait(self, method: str, url: str) -> None:
        """Wait until the server's limits allow the request; raise an error that says when, if that takes long."""
        now = self._clock()
        self._limits = limits.roll_back(self._limits, record.rolled_back_by(self._last_time, now))
        self._last_time = now
        resource = self._resources.get(_path(url), "core")
        at = limits.next_allowed(self._limits, now, self._bounds, write=method not in _READS, of_resource=resource)
        if at - now > LONGEST_PAUSE:
            again = time_text.clock_time(at, now)
            text = f"{method} {_path(url)} was not sent: a limit of the server allows it again at {again} UTC"
            raise HttpError(text, trouble="limited", retry_at=at)
        if at > now:
            await self._sleep((at - now).total_seconds())

    def _note_answer(self, answer: Answer) -> None:
        hit = limits.is_limited(answer.status, answer.headers, answer.content)
        self._limits = limits.after_answer(self._limits, answer.status, answer.headers, self._clock(), hit=hit)
        if limits.blocks(self._limits) != self._saved_blocks:
            self._save_limits()
        resource = limits.resource(answer.headers)
        if resource != "core":  # few addresses have an allowance of their own: GraphQL, search
            self._resources[_path(answer.url)] = resource
        if not (answer.unchanged and self._token):
            self.usage.charged += 1
        self.usage.remaining = limits.remaining(self._limits)

    def _save_limits(self) -> None:
        self._saved_blocks = limits.blocks(self._limits)
        if self._store is not None:
            self._store.save(limits_store.dump(self._limits, self._base, self._clock()))

    def _next_hop(self, method: str, answer: Answer) -> str:
        where = f"{method} {_path(answer.url)}"
        location = answer.headers.get("location")
        if not location:
            raise HttpError(f"{where}: the redirect has no address", trouble="unknown")
        try:
            target = urljoin(answer.url, location)
            home = self._is_home(target)
        except ValueError as error:
            raise HttpError(f"{where}: the address of the redirect is not valid", trouble="unknown") from error
        if method not in _READS and not (home and answer.status in _SAME_METHOD):
            raise HttpError(
                f"{where}: the server redirected a request that writes, and prloom does not send it to another address",
                trouble="refused",
            )
        return target

    def _answer_or_error(self, method: str, answer: Answer) -> Answer:
        if answer.unchanged or 200 <= answer.status < 300:  # noqa: PLR2004 - the numbers are the names
            return answer
        now = self._clock()
        hit = limits.is_limited(answer.status, answer.headers, answer.content)
        until = limits.next_allowed(
            self._limits, now, self._bounds, write=False, of_resource=limits.resource(answer.headers)
        )
        text = self._without_token(answer.content[:_BODY].decode("utf-8", "replace"))
        raise HttpError(
            f"{method} {_path(answer.url)}: {answer.status}",
            trouble="limited" if hit else _error_kind(answer.status),
            status=answer.status,
            body=text,
            retry_at=until if until > now else None,
            headers=answer.headers,
        )

    def _is_home(self, url: str) -> bool:
        return _origin(url) == _origin(self._base)

    def _without_token(self, text: str) -> str:
        if self._token:
            return text.replace(self._token, "***")
        return text


def _checked_token(token: str | None) -> str | None:
    """Return the token; a character that no header can hold would end up, token and all, in an error's text."""
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise PrloomError(
            "the token contains a space or another character that is not allowed; set it again, without line breaks"
        )
    return token or None


def _error_kind(status: int) -> Trouble:
    match status:
        case 401:
            return "unauthorized"
        case 403 | 451:
            return "forbidden"
        case 404 | 410:
            return "gone"
        case 400 | 405 | 409 | 422:
            return "refused"
        case _:
            return "unknown"


def _joined(method: str, base: str, url: str) -> str:
    """Return the absolute address; raises HttpError for one that is not valid, as a server may name it in a `Link`."""
    try:
        target = urljoin(base, url)
        _origin(target)
    except ValueError as error:
        raise HttpError(f"{method}: the address is not valid: {error}", trouble="unknown") from error
    return target


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _path(url: str) -> str:
    """Return the address without host and query: they may contain a secret."""
    return urlsplit(url).path or "/"
