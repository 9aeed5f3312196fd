"""The HTTP interface of bridges: a bridge describes a request; the host sends it with the token, within the limits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from prloom.errors import PrloomError
from prloom.model.record import Json

Trouble = Literal["unauthorized", "forbidden", "gone", "limited", "refused", "unknown"]
"""Why there is no answer to work with.

`unauthorized`: the token is not accepted (401). `forbidden`: this one thing is not allowed (403 without a limit, 451).
`gone`: 404 or 410, gone or invisible. `limited`: not before `retry_at`. `refused`: the request itself is at fault (405,
409, 422). `unknown`: anything else; nothing follows from it, and a write may have taken effect.
"""

_LINK = re.compile(r'<([^>]{1,2000})>\s*;\s*rel="?([a-z]{1,20})"?')


class HttpError(PrloomError):
    """A request without a usable answer; the text names method, path and status, and never the token.

    `body` and `headers` (lower case names) are those of the answer, where there was one.
    """

    def __init__(
        self,
        text: str,
        *,
        trouble: Trouble,
        status: int | None = None,
        body: str = "",
        retry_at: datetime | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.trouble: Trouble = trouble
        self.status = status
        self.body = body
        self.retry_at = retry_at
        self.headers: Mapping[str, str] = headers or {}

    def reworded(self, text: str) -> HttpError:
        """Return the same error in other words."""
        return HttpError(
            text,
            trouble=self.trouble,
            status=self.status,
            body=self.body,
            retry_at=self.retry_at,
            headers=self.headers,
        )


@dataclass(frozen=True)
class Answer:
    """The answer to a request: 2xx, or 304 where the caller's `etag` is still right; header names are lower case."""

    status: int
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def unchanged(self) -> bool:
        """Whether what the caller has is still right (304); GitHub charges nothing for such an answer."""
        return self.status == 304  # noqa: PLR2004 - the number is the name

    @property
    def etag(self) -> str | None:
        """What to give as `etag` the next time."""
        return self.headers.get("etag")

    @property
    def next_page(self) -> str | None:
        """The URL of the next page, as the `Link` header (RFC 8288) has it."""
        return next((url for url, rel in _LINK.findall(self.headers.get("link", "")) if rel == "next"), None)

    def json(self) -> Json:
        """Return the content as JSON; raises HttpError where it is none."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise HttpError(f"the answer of {self.url} is not JSON: {error}", trouble="unknown") from error


class Http(Protocol):
    """The host's client for one bridge. Requests go out one after the other."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: Json | None = None,
        etag: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request to a path below the bridge's base URL, or to an absolute URL; raises HttpError.

        The token goes only to the base URL's host. Redirects are followed where nothing is written.
        """


@dataclass(frozen=True)
class HttpNeeds:
    """What a bridge needs of its client.

    The token is the first of these environment variables that is set (before `NAME`, `NAME_FILE`: the path of a file
    that holds it), else what the command prints; one that is not accepted any more is looked for again. For a bridge
    that names any of these, nothing is sent without a token. `headers` go with every request. `writes_per_minute` and
    `writes_per_hour` bound what is written, `pause` is the least time between two writes, in seconds;
    `points_per_minute` bounds everything: a request is one point, one that writes five.
    """

    base_url: str
    token_variables: tuple[str, ...] = ()
    token_command: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 1.0
    points_per_minute: int = 800
    writes_per_minute: int = 80
    writes_per_hour: int = 500


@runtime_checkable
class UsesHttp(Protocol):
    """A bridge that speaks HTTP: its context's `http` is a client made for these needs."""

    http: HttpNeeds
