"""A fake GitHub at noon, an account with a token, and a client that is polite to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fake_github import Clock, Hub


class Polite:
    """A client in series that lets a second pass after each write; paths are below the repository's own."""

    def __init__(self, hub: Hub, clock: Clock, token: str | None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.wire = httpx.Client(transport=hub.transport(), base_url=hub.api_url, headers=headers)
        self.clock = clock

    def get(self, path: str, *, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        return self.wire.get(self.full(path), params=query or None, headers=headers)

    def send(self, method: str, path: str, body: Any = None) -> httpx.Response:
        try:
            return self.wire.request(method, self.full(path), json=body)
        finally:
            self.clock.advance(seconds=1)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.send("POST", path, body)

    def graphql(self, query: str, **variables: Any) -> Any:
        """Ask by GraphQL and return the answer's JSON."""
        answer = self.post("graphql:", {"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def full(self, path: str) -> str:
        if path == "graphql:":
            return str(self.wire.base_url.copy_with(raw_path=b"/graphql"))
        return path if path.startswith(("http", "/user", "/repo")) else f"/repos/ada/engine{path}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock) -> Iterator[Hub]:
    """A repository of ada's, in which prloom and ann may write; whatever breaks the contract fails the test."""
    hub = Hub(clock)
    hub.person("prloom", "write")
    hub.person("ann", "write")
    yield hub
    hub.verify()


@pytest.fixture
def signed_in(hub: Hub, clock: Clock) -> Callable[..., Polite]:
    """Sign in as somebody; the token's details may be given."""

    def sign_in(login: str | None = "prloom", **details: Any) -> Polite:
        return Polite(hub, clock, hub.token(login, **details) if login else None)

    return sign_in


@pytest.fixture
def api(signed_in: Callable[..., Polite]) -> Polite:
    """A client signed in as prloom."""
    return signed_in()
