"""The whole API as one function of a request and the time: limits, contract, endpoint, pages, ETag, faults, log."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from . import actions, contract, graph, merges, pages, request_log, tokens
from .call import Call
from .contract import ContractBroken
from .exchange import Json, Listing, Outcome, Refusal, Reply, Request, Response
from .faults import Script
from .request_log import LoggedRequest
from .routes import ROUTES
from .things import Token
from .world import World

REMEMBERED = 100
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True)
class AuthenticatedRequest:
    """A request whose sender is known: its path and query, free of base path and numbers, and its body."""

    request: Request
    token: Token | None
    path: str
    query: Mapping[str, str]
    body: Json
    now: datetime

    @property
    def what(self) -> str:
        return f"{self.request.method} {self.path}"

    @property
    def login(self) -> str:
        return self.token.account.login if self.token else ""

    @property
    def graphql(self) -> bool:
        return self.path == "/graphql"

    @property
    def resource(self) -> str:
        return "graphql" if self.graphql else "core"

    @property
    def write(self) -> bool:
        return graph.is_mutation(self.body) if self.graphql else self.request.method not in {"GET", "HEAD"}


@dataclass
class Api:
    """The state machine. `asked` is the log, `elsewhere` that of other hosts, `broken` what broke the contract."""

    world: World
    script: Script = field(default_factory=Script)
    asked: list[LoggedRequest] = field(default_factory=list)
    elsewhere: list[LoggedRequest] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    linked: set[str] = field(default_factory=set)
    cache: dict[tuple[str, str], tuple[int, Response]] = field(default_factory=dict)

    def handle(self, request: Request, now: datetime) -> Outcome:
        """Answer one request, faults included, and remember it."""
        here = request.origin == self.world.urls.origin
        book = self.asked if here else self.elsewhere
        what, login = f"{request.method} {request.path}", tokens.login(self.world, request) if here else ""
        early = self.script.play("before", what)
        if early is not None:
            book.append(request_log.asked(request, early, login=login, at=now, faulty=True))
            return early
        used, told = self.used(login), self.world.limits.of(login).told
        response = self.respond(request, now) if here else self.answer_elsewhere(request, now)
        charged = self.used(login) > used
        late = self.script.play("after", what, response)
        outcome = late if late is not None else response
        if late is not None:
            self.world.limits.of(login).told = told  # a refusal that did not arrive told nobody
        book.append(request_log.asked(request, outcome, login=login, at=now, charged=charged, faulty=late is not None))
        return outcome

    def used(self, login: str) -> int:
        return self.world.limits.of(login).charged

    def answer_elsewhere(self, request: Request, now: datetime) -> Response:
        """Answer as the host that keeps the logs, or as one that nobody should have asked."""
        if "authorization" in request.headers:
            self.world.limits.complaints.append(f"{request.method} {request.url}: the token was shown to another host")
        ours = request.origin == self.world.urls.storage
        return actions.serve_log(self.world, request, now) if ours else Response(404)

    def respond(self, request: Request, now: datetime) -> Response:
        """Answer truly. Whatever is not as GitHub describes it is raised, and kept in `broken`."""
        merges.settle(self.world, now)
        try:
            asking = self.read(request, now)
        except Refusal as refusal:
            return self.written(refusal.reply())
        try:
            return self.admitted(asking)
        except ContractBroken as error:
            self.broken.append(str(error))
            raise

    def read(self, request: Request, now: datetime) -> AuthenticatedRequest:
        """Find out who asks for what; refuse whoever does not say who they are or gets it wrong."""
        if not request.headers.get("user-agent"):
            raise Refusal(
                403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"
            )
        token = tokens.of(self.world, request)
        body = request_log.body_of(request)
        if request.body and body is None:
            raise Refusal(400, "Problems parsing JSON")
        return AuthenticatedRequest(
            request, token, self.local_path(request), request_log.query_of(request.url), body, now
        )

    def local_path(self, request: Request) -> str:
        """Return the path as the description writes it: without base path, the repository by its name."""
        urls, path = self.world.urls, request.path
        if path == urls.graphql and request.method == "POST":
            return "/graphql"
        if not path.startswith(f"{urls.base_path}/") or path.endswith("/graphql"):
            raise Refusal(404, "Not Found")
        path = path[len(urls.base_path) :]
        numeric = f"/repositories/{self.world.repository.id}"
        if path == numeric or path.startswith(f"{numeric}/"):
            return f"/repos/{self.world.repository.full_name}{path[len(numeric) :]}"
        return path

    def admitted(self, asking: AuthenticatedRequest) -> Response:
        """Answer if the limits allow it; from memory if nothing changed since the same was asked."""
        if not asking.graphql:
            contract.check_request(asking.request.method, asking.path, asking.query, asking.body)
        self.mind_links(asking)
        try:
            limits = self.world.limits
            limits.admit(asking.login, asking.resource, asking.now, write=asking.write, what=asking.what)
            remembered = self.remembered(asking)
            if remembered:
                return self.conditional(asking, remembered)
            return self.finish(asking, *self.carried_out(asking))
        except Refusal as refusal:
            return self.finish(asking, refusal.reply(), {})

    def remembered(self, asking: AuthenticatedRequest) -> Response | None:
        version, response = self.cache.get((asking.request.url, asking.login), (-1, None))
        return response if asking.request.method == "GET" and version == self.world.version else None

    def carried_out(self, asking: AuthenticatedRequest) -> tuple[Reply, dict[str, str]]:
        """Return what the endpoint answers, and the URLs of neighbouring pages."""
        call = self.call(asking, {})
        urls: dict[str, str] = {}
        if asking.write:
            self.world.changed()
        moved = self.moved(asking)
        if asking.graphql:
            reply = graph.answer(call)
        elif moved:
            reply = moved
        else:
            reply, urls = self.routed(asking)
        if asking.write:
            self.world.changed()
        return reply, urls

    def call(self, asking: AuthenticatedRequest, params: Mapping[str, str]) -> Call:
        token = asking.token
        permissions = token.permissions if token else None
        viewer = token.account if token else None
        return Call(self.world, viewer, params, asking.query, asking.body, asking.now, permissions)

    def moved(self, asking: AuthenticatedRequest) -> Reply | None:
        """Return the redirection of a repository's old name to its number."""
        name = "/".join(asking.path.split("/")[2:4])
        if not asking.path.startswith("/repos/") or name.lower() not in self.world.old_names:
            return None
        rest = asking.path.removeprefix(f"/repos/{name}")
        query = f"?{urlencode(asking.query)}" if asking.query else ""
        url = f"{self.world.urls.api}/repositories/{self.world.repository.id}{rest}{query}"
        body = {"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest"}
        return Reply(307 if asking.write else 301, body, {"location": url})

    def routed(self, asking: AuthenticatedRequest) -> tuple[Reply, dict[str, str]]:
        template, params = contract.template_of(asking.path) or ("", {})
        if (
            "owner" in params
            and f"{params['owner']}/{params['repo']}".lower() != self.world.repository.full_name.lower()
        ):
            raise Refusal(404, "Not Found")
        route = ROUTES[f"{asking.request.method} {template}"]
        call = self.call(asking, params)
        if template.startswith("/repos/"):
            tokens.permit(call, asking.token, route.needs)
        if template == "/user" and asking.token and asking.token.kind == "app":
            raise Refusal(403, "Resource not accessible by integration")
        result = route.endpoint(call)
        if isinstance(result, Listing):
            value, urls = pages.show(self.world, result, asking.path, asking.query)
            return Reply(200, value), urls
        return result, {}

    def mind_links(self, asking: AuthenticatedRequest) -> None:
        """Complain of a page that no `Link` has named: the client made up the URL."""
        if asking.query.get("page", "1") != "1" and asking.request.url not in self.linked:
            self.world.limits.complaints.append(
                f"{asking.what}: page {asking.query['page']} by a URL that no Link named"
            )

    def finish(self, asking: AuthenticatedRequest, reply: Reply, urls: dict[str, str]) -> Response:
        """Check the answer, write it, and give it an ETag where it is one to a GET."""
        if not asking.graphql:
            contract.check_response(asking.request.method, asking.path, reply.status, reply.value)
        self.linked.update(urls.values())
        response = self.written(reply, pages.header(urls))
        if asking.request.method != "GET" or reply.status != 200:
            return self.charged(asking, response)
        tag = f'W/"{hashlib.blake2b(response.body, digest_size=16).hexdigest()}"'
        tagged = Response(200, {**response.headers, "etag": tag}, response.body)
        self.cache[asking.request.url, asking.login] = (self.world.version, tagged)
        if len(self.cache) > REMEMBERED:
            del self.cache[next(iter(self.cache))]
        return self.conditional(asking, tagged)

    def conditional(self, asking: AuthenticatedRequest, response: Response) -> Response:
        """Answer 304 to whoever has this already; that is free, unless nobody said who they are."""
        known = [tag.strip().removeprefix("W/") for tag in asking.request.headers.get("if-none-match", "").split(",")]
        if response.headers["etag"].removeprefix("W/") not in known:
            return self.charged(asking, response)
        headers = {name: text for name, text in response.headers.items() if name not in {"content-type", "link"}}
        return self.charged(asking, Response(304, headers), free=asking.token is not None)

    def charged(self, asking: AuthenticatedRequest, response: Response, *, free: bool = False) -> Response:
        limits = self.world.limits
        if not free:
            limits.charge(asking.login, asking.resource)
        numbers = limits.headers(asking.login, asking.resource, asking.now)
        date = {"date": format_datetime(asking.now.astimezone(UTC), usegmt=True)} if self.world.tells_time else {}
        return Response(response.status, {**response.headers, **date, **numbers}, response.body)

    def written(self, reply: Reply, extra: Mapping[str, str] | None = None) -> Response:
        headers: dict[str, Any] = {
            "x-github-media-type": "github.v3; format=json",
            "x-github-request-id": f"{len(self.asked):04X}:1",
            "cache-control": "private, max-age=60, s-maxage=60",
            "vary": "Accept, Authorization, Cookie, X-GitHub-OTP",
            **reply.headers,
            **(extra or {}),
        }
        if reply.value is None:
            return Response(reply.status, headers)
        return Response(reply.status, {"content-type": JSON_TYPE, **headers}, msgspec.json.encode(reply.value))
