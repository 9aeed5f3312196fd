"""What was asked, as the fake remembers it; tokens are not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from .exchange import Outcome, Request, Response

SECRET = {"authorization", "cookie"}


@dataclass(frozen=True, kw_only=True)
class LoggedRequest:
    """One request and its outcome: a status, or the name of what broke. `charged`: it counted against the hourly limit.

    `faulty`: a test had put the outcome in place of the true one. `saw_token`: the request showed a token.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: Any
    login: str
    at: datetime
    outcome: int | str
    charged: bool = False
    faulty: bool = False
    saw_token: bool = False

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def query(self) -> Mapping[str, str]:
        return query_of(self.url)

    @property
    def write(self) -> bool:
        return self.method not in {"GET", "HEAD"}

    def __str__(self) -> str:
        return f"{self.method} {self.path} -> {self.outcome}"


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def body_of(request: Request) -> Any:
    """Return the JSON that a request carries; None if it carries nothing or something else."""
    try:
        return msgspec.json.decode(request.body) if request.body else None
    except msgspec.DecodeError:
        return None


def asked(
    request: Request, outcome: Outcome, *, login: str, at: datetime, charged: bool = False, faulty: bool = False
) -> LoggedRequest:
    return LoggedRequest(
        method=request.method,
        url=request.url,
        headers={name: text for name, text in request.headers.items() if name not in SECRET},
        body=body_of(request),
        login=login,
        at=at,
        outcome=outcome.status if isinstance(outcome, Response) else outcome.kind,
        charged=charged,
        faulty=faulty,
        saw_token="authorization" in request.headers,
    )
