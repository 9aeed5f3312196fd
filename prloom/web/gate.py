"""Let a request through to the pages only from a known session and a page of this server; bound what it may send."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prloom.web import access, form, render
from prloom.web.access import Names
from prloom.web.sessions import BrowserSession, Sessions

MOST_BODY: Final = 64 * 1024
"""Bytes of a request's body."""

BODY_WITHIN: Final = 10.0
"""Seconds in which the whole body has to come."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with "no-referrer", browsers say of a form only that its origin is "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_OPEN: Final = frozenset({"/healthz", "/login", "/static/prloom.css", "/static/prloom.js", "/static/icon.svg"})
_METRICS: Final = "/metrics"


@dataclass(frozen=True)
class Gate:
    """What every request passes, before anything of it reaches a page or an action."""

    app: ASGIApp
    sessions: Sessions
    names: Names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a refusal, or pass it on with its session in `state.session`."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        secured = _with_headers(send, _headers_of(scope))
        try:
            refused = await self._refusal(scope, receive)
        except _TooMuchError as error:
            refused = render.refusal(scope, error.status, str(error))
        if isinstance(refused, Response):
            await refused(scope, receive, secured)
        else:
            await self.app(scope, refused, secured)

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | Receive:
        """Return the refusal of a request, or what its body is to be received from."""
        headers = {name.lower(): value for name, value in Headers(scope=scope).items()}
        if scope["method"] in access.SAFE and _has_body(headers):
            raise _TooMuchError(413, f"a {scope['method']} request has no body")
        problem = access.problem(scope["method"], headers, self.names)
        if problem is not None:
            return render.refusal(scope, 403, problem)
        path = scope["path"]
        if path == _METRICS:
            return self._of_metrics(scope, headers, receive)
        session = self.sessions.find(Request(scope).cookies.get(cookie_name(self.names.port), ""))
        scope.setdefault("state", {})["session"] = session
        if session is None and path not in _OPEN:
            is_action = scope["method"] not in access.SAFE
            return render.sign_in(scope, needs_password=self.sessions.password is not None, undone=is_action)
        if scope["method"] in access.SAFE:
            return receive
        body = await _body(headers, receive)
        if path != "/login" and not _is_of(session, headers, body):
            return render.refusal(scope, 403, "the form is out of date; reload the page, and send it again")
        return _replayed(body)

    def _of_metrics(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Response | Receive:
        """Have the figures be asked for with the password, where there is one: they name plugins and bridges."""
        given = headers.get("authorization")
        if self.sessions.password is None:
            return receive
        if given is not None and self.sessions.fits(_basic_password(given), peer(scope)):
            return receive
        answer = render.refusal(scope, 401, "give the password, with any user name")
        answer.headers["www-authenticate"] = 'Basic realm="prloom"'
        return answer


def cookie_name(port: int) -> str:
    """Return the name of the cookie: a browser gives cookies to all ports of a host."""
    return f"prloom_{port}"


def peer(scope: Scope) -> str:
    """Return the address that a request came from."""
    client: tuple[str, int] | None = scope.get("client")
    if client is None:
        return ""
    return client[0]


class _TooMuchError(Exception):
    """A body that is too long, or comes too slowly."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def _body(headers: Mapping[str, str], receive: Receive) -> bytes:
    too_long = _TooMuchError(413, f"the request is longer than {MOST_BODY:,} bytes")
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > MOST_BODY:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _TooMuchError(400, "the connection was closed before the request was complete")
                body += message.get("body", b"")
                if len(body) > MOST_BODY:
                    raise too_long
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError as error:
        raise _TooMuchError(408, f"the request did not come within {BODY_WITHIN:g} seconds") from error


def _replayed(body: bytes) -> Receive:
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _is_of(session: BrowserSession | None, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a form, or a program with the session's token in a header, has sent a request."""
    if session is None:
        return False
    given = headers.get("x-csrf-token")
    if given is None:
        given = form.read(body).one("csrf")
    return session.accepts(given)


def _basic_password(header: str) -> str:
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace").partition(":")[2]
    except ValueError:  # binascii.Error is one; letters that are not ASCII raise another
        return ""


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _headers_of(scope: Scope) -> Mapping[str, str]:
    """Return the headers of each answer; one to a body ends the connection, so that no refused body is read on."""
    if _has_body(Headers(scope=scope)):
        return {**HEADERS, "connection": "close"}
    return HEADERS


def _with_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.setdefault(name, value)
        await send(message)

    return secured
