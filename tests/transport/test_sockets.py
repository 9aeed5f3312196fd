"""The client over real sockets: what another host is shown, what is too much, what breaks, and which pages it reads."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, RESET, TRUNCATED, Hub, flood, redirect, serve

from prloom.api import HttpError, HttpNeeds
from prloom.transport.client import LARGEST, Client

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

MIB = 1 << 20
COMMENTS = "repos/ada/engine/issues/comments"


def now() -> datetime:
    return datetime.now(UTC)


class Line:
    """GitHub on one side, the client on the other."""

    def __init__(self, hub: Hub, api_url: str) -> None:
        self.hub = hub
        self.client = Client(HttpNeeds(api_url), hub.token("ada"), clock=now)

    async def fails(self, method: str = "GET", url: str = COMMENTS, **more: Any) -> HttpError:
        with pytest.raises(HttpError) as caught:
            await self.client.request(method, url, **more)
        return caught.value


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    hub = Hub(now)
    async with serve(hub) as at:
        made = Line(hub, at.api_url)
        try:
            yield made
        finally:
            await made.client.close()
    hub.verify()
    assert hub.complaints == []


@asynccontextmanager
async def answering(head: bytes, body: Callable[[], Any]) -> AsyncIterator[Client]:
    """Yield the client of a server that sends these bytes to whoever asks."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + head + b"\r\n")
            for piece in body():
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    client = Client(HttpNeeds(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"), None, clock=now)
    try:
        yield client
    finally:
        await client.close()
        server.close()
        await server.wait_closed()


def bomb() -> Any:
    """Yield a packed gigabyte of zeros, a megabyte: its first block, which has the head, and the second ever again."""
    packer = zlib.compressobj(wbits=31)
    first, second = (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    yield from (first, *(second for _ in range(1023)))


# ---- the token


async def test_the_log_of_a_job_is_fetched_from_its_host_without_the_token(line: Line):
    pull = line.hub.pull()
    check = line.hub.check(pull, "tests", "failure", log="it is broken")

    log = await line.client.request("GET", f"repos/ada/engine/actions/jobs/{check.id}/logs")

    assert b"it is broken" in log.content
    assert [each.saw_token for each in line.hub.elsewhere] == [False]
    assert [each.saw_token for each in line.hub.asked] == [True]


async def test_a_redirect_elsewhere_shows_the_token_to_nobody(line: Line):
    other = line.hub.world.urls.storage
    line.hub.before_next(redirect(f"{other}/steal"))
    line.hub.before_next(redirect(f"{other}/steal", 307), on="POST *")

    await line.fails()
    refused = await line.fails("POST", "repos/ada/engine/issues/1/comments", body={"body": "secret"})

    assert refused.trouble == "refused"
    assert [(each.method, each.saw_token) for each in line.hub.elsewhere] == [("GET", False)]


# ---- too much, and too little


async def test_a_flood_is_given_up(line: Line):
    line.hub.after_next(flood(LARGEST + MIB))

    assert str(await line.fails()).endswith(f"the answer is larger than {LARGEST} bytes")


async def test_a_packed_gigabyte_is_given_up():
    async with answering(b"content-encoding: gzip\r\n", bomb) as client:
        with pytest.raises(HttpError, match=f"the answer is larger than {LARGEST} bytes"):
            await client.request("GET", "x")


@pytest.mark.parametrize("broken", [TRUNCATED, RESET, BAD_GATEWAY], ids=["truncated", "reset", "502"])
async def test_of_what_breaks_nothing_is_known(line: Line, broken: Any):
    line.hub.after_next(broken)

    assert (await line.fails()).trouble == "unknown"


# ---- pages


async def test_the_pages_of_a_list_are_those_that_github_names_by_number(line: Line):
    pull = line.hub.pull()
    for number in range(5):
        line.hub.comment(pull, "ada", f"text {number}")

    found, url = [], f"{COMMENTS}?per_page=2"
    while url:
        page = await line.client.request("GET", url)
        found += [each["body"] for each in page.json()]
        url = page.next_page

    assert found == [f"text {number}" for number in range(5)]
    assert [each.path.partition("/issues")[0] for each in line.hub.asked] == ["/repos/ada/engine"] + [
        "/repositories/1000"
    ] * 2
