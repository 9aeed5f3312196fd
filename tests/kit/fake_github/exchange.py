"""What goes over the wire, as values: a request, its response, and the ways in which a response can fail to arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

Json = Any

DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Request:
    """One HTTP request; the names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


@dataclass(frozen=True)
class Response:
    """One HTTP response, whole."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Breakage:
    """What a client sees in place of a whole response.

    `reset`: the connection ends; `timeout`: nothing ever comes; `truncated`: the first half of `response` comes, and
    then the end; `flood`: `response`, followed by `size` bytes of blanks.
    """

    kind: Literal["reset", "timeout", "truncated", "flood"]
    response: Response | None = None
    size: int = 0


Outcome = Response | Breakage


class Host(Protocol):
    """What answers requests; whoever carries them says when each begins and ends, so that those at once are seen."""

    def enter(self, request: Request) -> None: ...

    def handle(self, request: Request) -> Outcome: ...

    def leave(self, request: Request) -> None: ...


@dataclass(frozen=True)
class Reply:
    """What an endpoint answers; `value` None: no body."""

    status: int
    value: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Listing:
    """Many things of which a page is shown; `wrap` names the list inside an object that also counts them."""

    items: Sequence[Any]
    render: Callable[[Any], Json]
    wrap: str | None = None


class Refusal(Exception):  # noqa: N818  # it says what happened
    """GitHub says no."""

    def __init__(self, status: int, message: str, *, errors: Sequence[Json] = (), **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}

    def reply(self) -> Reply:
        value: Json = {"message": self.message, "documentation_url": DOCS, "status": str(self.status)}
        if self.status == 422:
            del value["status"]  # the description of a validation error does not know it
            value |= {"errors": list(self.errors)} if self.errors else {}
        return Reply(self.status, value, self.headers)


def gone() -> Refusal:
    return Refusal(404, "Not Found")


def invalid(resource: str, field_name: str, message: str = "", *, code: str = "") -> Refusal:
    """Return the refusal of one field, as GitHub words it."""
    error = {"resource": resource, "field": field_name, "code": code or ("custom" if message else "invalid")}
    return Refusal(422, "Validation Failed", errors=[error | ({"message": message} if message else {})])


def stamp(moment: datetime | None) -> str | None:
    """Return a time as GitHub writes it: UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def read_stamp(text: str) -> datetime:
    """Read a time as a client gives it; 422 where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Refusal(422, f"Invalid since: {text!r}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
