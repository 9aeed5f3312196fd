"""Put the pages, the actions and the figures together as one application, behind its gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from prloom import errors
from prloom.errors import PrloomError, StorageError
from prloom.web import (
    form,
    gate,
    metrics,
    render,
    stream,
)
from prloom.web.access import Names
from prloom.web.actions import ACTIONS
from prloom.web.changes import PageChanges
from prloom.web.gate import Gate
from prloom.web.pages import costs, dashboard, event, events, extensions, plan, review, run, stats, todo
from prloom.web.pages import log as log_page
from prloom.web.sessions import BrowserSession, Sessions
from prloom.web.site import Page, Query, QueryError, Site
from prloom.web.stream import ChangeStream

log = logging.getLogger(__name__)

_AT_ONCE: Final = 4
"""Views that are read at the same time, each in a thread of its own."""

_STATIC: Final[Mapping[str, str]] = {
    "prloom.css": "text/css; charset=utf-8",
    "prloom.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

_ERROR_TEXTS: Final[Mapping[int, str]] = {404: "there is no such page", 405: "this address takes another method"}

Read = Callable[[Site, Query], Page]

PAGES: Final[Mapping[str, Read]] = {
    "/": dashboard.page,
    "/plans/{plan}": plan.page,
    "/plans/{plan}/todos/{todo}": todo.page,
    "/runs/{run}": run.page,
    "/event": event.page,
    "/events": events.page,
    "/read": review.page,
    "/log": log_page.page,
    "/costs": costs.page,
    "/stats": stats.page,
    "/extensions": extensions.page,
}
"""The pages by their addresses."""


@dataclass(frozen=True)
class Pages:
    """What answers the requests that the gate lets through."""

    site: Site
    sessions: Sessions
    names: Names
    changes: PageChanges
    limiter: CapacityLimiter

    def page(self, read: Read) -> Callable[[Request], object]:
        """Return the endpoint of a page: for people, and as JSON for programs."""

        async def endpoint(request: Request) -> Response:
            query = Query(request.path_params, dict(request.query_params))
            try:
                found = await to_thread.run_sync(read, self.site, query, limiter=self.limiter)
            except QueryError as error:
                return render.refusal(request.scope, 400, str(error))
            except (StorageError, OSError) as error:  # what is asked for may be there, and cannot be read
                told = errors.explain(error) or str(error)
                return render.refusal(request.scope, 500, told, "This page cannot be shown")
            except PrloomError as error:
                return render.refusal(request.scope, 404, errors.explain(error) or str(error))
            if render.wants_json(request.scope):
                return render.document(found.value, masked=found.is_masked)
            values = {"title": found.title, "it": found.value, "parts": found.parts, **found.more}
            return await to_thread.run_sync(render.page, request.scope, found.template, values, limiter=self.limiter)

        return endpoint

    async def act(self, request: Request) -> Response:
        """Carry out an action, and go back to the page that asked for it; a program gets a JSON document."""
        given = form.read(await request.body())
        act = ACTIONS.get(request.path_params["action"])
        if act is None:
            return render.refusal(request.scope, 404, "there is no such action")
        failed = False
        try:
            said = await to_thread.run_sync(act, self.site, given, limiter=self.limiter)
        except (PrloomError, OSError) as error:
            said, failed = errors.explain(error) or str(error), True
        if render.wants_json(request.scope):
            if failed:
                return JSONResponse({"error": said}, 409)
            return JSONResponse({"done": said})
        session: BrowserSession = request.state.session
        session.notice, session.failed = said, failed
        return RedirectResponse(form.local_path(given.one("back", "/")), 303)

    async def log_in(self, request: Request) -> Response:
        """Exchange the link's token, or the password, for the cookie of a session."""
        if request.method == "POST":
            password = form.read(await request.body()).one("password")
            session = self.sessions.log_in(password, gate.peer(request.scope))
        elif request.method == "HEAD":  # a program that checks links, which must not use this one up
            return Response()
        else:
            session = self.sessions.redeem(request.query_params.get("token", ""))
        if session is None:
            await asyncio.sleep(0)
            needs_password = self.sessions.password is not None
            return render.sign_in(request.scope, needs_password=needs_password, wrong=True)
        answer = _let_in(request)
        answer.set_cookie(gate.cookie_name(self.names.port), session.id, httponly=True, samesite="strict", path="/")
        return answer

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        self.sessions.end(request.state.session)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(gate.cookie_name(self.names.port))
        return answer

    async def live(self, request: Request) -> ChangeStream | Response:
        """Open the stream of a page, unless there are too many."""
        if self.changes.open >= stream.MOST:
            return PlainTextResponse("too many pages are open; close some", 503, {"retry-after": "30"})
        return ChangeStream(self.changes, frozenset(request.query_params.getlist("part")[:20]))

    async def metrics(self, request: Request) -> Response:
        """Return the figures for Prometheus."""
        content = await to_thread.run_sync(metrics.text, self.site, limiter=self.limiter)
        return Response(content, media_type=metrics.CONTENT_TYPE)


def _let_in(request: Request) -> Response:
    """Lead a browser to the first page. After a link of another site, only a page of this one leads to the cookie."""
    if request.headers.get("sec-fetch-site") != "cross-site":
        return RedirectResponse("/", 303)
    answer = render.page(request.scope, "let_in.html", {"title": "Signed in"})
    answer.headers["refresh"] = "0; url=/"
    return answer


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _STATIC.get(name)
    if kind is None:
        return render.refusal(request.scope, 404, "there is no such file")
    return FileResponse(render.HERE / "static" / name, media_type=kind, headers={"cache-control": "no-cache"})


async def _http_error(request: Request, error: Exception) -> Response:
    status, text = 500, "something is wrong with prloom; its terminal says what"
    if isinstance(error, HTTPException):
        status, text = error.status_code, _ERROR_TEXTS.get(error.status_code, error.detail)
    return render.refusal(request.scope, status, text)


def build(site: Site, sessions: Sessions, names: Names) -> ASGIApp:
    """Return the application."""
    pages = Pages(site, sessions, names, PageChanges(site.where), CapacityLimiter(_AT_ONCE))
    routes = [Route(path, pages.page(read)) for path, read in PAGES.items()]
    routes += [
        Route("/actions/{action}", pages.act, methods=["POST"]),
        Route("/login", pages.log_in, methods=["GET", "POST"]),
        Route("/logout", pages.log_out, methods=["POST"]),
        Route("/live", pages.live),
        Route("/metrics", pages.metrics),
        Route("/healthz", _health),
        Route("/static/{name}", _static),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _http_error, Exception: _http_error})
    return Gate(inner, sessions, names)
