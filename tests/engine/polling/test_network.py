"""The clients of the bridges: a token that is there before anything is sent, and looked for again when it expires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from stage import Clock, ListBridge

from prloom.api import HttpError, HttpNeeds
from prloom.engine.polling.network import Network
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.storage.safe_dir import SafeDir
from prloom.transport.client import Client
from prloom.transport.token import NoTokenError


class Server:
    """A bridge's server, which accepts one token, and the host's network to it."""

    def __init__(self, file: Path, state: Path, **needs: Any) -> None:
        self.file = file
        self.accepted = "first"
        self.shown: list[str | None] = []
        self.clock = Clock()
        bridge: Any = ListBridge()
        bridge.http = HttpNeeds("https://api.example", **{"token_variables": ("TOKEN",), **needs})
        loaded = LoadedBridge("forge", "test", bridge, ("forge",), timedelta(seconds=60))
        self.folder = SafeDir.make(state)
        self.network = Network(
            LoadedBridges((loaded,)),
            {"TOKEN_FILE": str(file)},
            self.clock,
            self.folder,
            connect=partial(Client, sleep=self.sleep, transport=httpx.MockTransport(self.answer)),
        )

    async def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or None
        self.shown.append(token)
        await asyncio.sleep(0)
        return httpx.Response(200 if token == self.accepted else 401)

    async def ask(self, method: str = "GET") -> Any:
        client = self.network.client("forge")
        assert client is not None
        return await client.request(method, "things")

    async def fails(self) -> str:
        with pytest.raises(HttpError) as caught:
            await self.ask()
        assert caught.value.trouble == "unauthorized"
        return str(caught.value)


@pytest.fixture
def new_server(tmp_path: Path) -> Callable[..., Server]:
    return partial(Server, tmp_path / "token", tmp_path)


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    made = new_server()
    made.file.write_text("first")
    return made


async def test_a_token_that_was_renewed_is_shown_in_place_of_the_one_that_expired(server: Server):
    await server.ask()
    server.accepted = "second"
    server.file.write_text("second")

    assert (await server.ask("POST")).status == 200
    assert server.shown == ["first", "first", "second"]


async def test_however_many_hear_that_it_expired_it_is_looked_for_once(server: Server):
    await server.ask()
    server.accepted = "second"
    server.file.write_text("second")

    await asyncio.gather(*(server.ask() for _ in range(5)))

    assert server.shown.count("second") == 5


async def test_a_token_that_is_not_accepted_is_not_shown_over_and_over(server: Server):
    server.accepted = "another"

    told = [await server.fails() for _ in range(9)]

    assert server.shown == ["first"]
    assert told[0] == f"GET /things: 401 with the token of the file {server.file} (TOKEN_FILE)"
    source = f"the token of the file {server.file} (TOKEN_FILE) was not accepted at 12:00:00 UTC (401)"
    assert told[8] == f"nothing was sent: {source}"


async def test_a_token_that_is_not_accepted_is_told_by_whoever_asked_and_not_besides(
    server: Server, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    server.accepted = "another"

    await server.fails()

    assert caplog.messages == []


async def test_after_a_while_it_is_shown_again_for_the_server_may_have_been_wrong(server: Server):
    server.accepted = "another"
    await server.fails()
    server.accepted = "first"
    server.clock.advance(seconds=61)

    await server.ask()

    assert server.shown == ["first", "first"]


async def test_another_one_is_shown_as_soon_as_it_is_found(server: Server):
    server.accepted = "second"
    await server.fails()
    server.file.write_text("second")
    server.clock.advance(seconds=5)

    await server.ask()

    assert server.shown == ["first", "second"]


async def test_without_a_token_nothing_is_sent_and_it_is_said_at_once(new_server: Callable[..., Server]):
    server = new_server()

    with pytest.raises(NoTokenError, match=r"TOKEN_FILE names .* which cannot be read"):
        await server.ask()
    server.file.write_text("first")
    server.clock.advance(seconds=5)
    await server.ask()

    assert server.shown == ["first"]


async def test_a_bridge_that_asks_for_no_token_is_asked_without_one(new_server: Callable[..., Server]):
    server = new_server(token_variables=())
    server.accepted = None

    await server.ask()

    assert server.shown == [None]


async def test_a_program_is_not_started_for_each_of_many_requests_without_a_token(
    new_server: Callable[..., Server], tmp_path: Path
):
    program = tmp_path / "keeper"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path / 'runs'}\nexit 1\n")
    program.chmod(0o700)
    server = new_server(token_variables=(), token_command=(str(program),))

    for _ in range(20):
        with pytest.raises(NoTokenError, match="it ended with exit code 1"):
            await server.ask()

    assert (tmp_path / "runs").read_text() == "x\n"


async def test_what_may_not_be_posted_is_the_token_that_is_shown_now(server: Server):
    await server.ask()
    server.accepted = "second"
    server.file.write_text("second")
    await server.ask()

    assert await server.network.secrets("forge") == {"the token of forge": "second"}


async def test_what_is_known_of_the_limits_is_in_a_file_and_a_damaged_one_is_none(server: Server, tmp_path: Path):
    await server.ask("POST")
    file = tmp_path / "bridge.forge.limits.json"
    assert '"writes"' in file.read_text()
    file.write_text("{")

    again = Server(server.file, tmp_path)
    await again.ask("POST")

    assert '"writes"' in file.read_text()


async def test_where_its_file_cannot_be_written_the_requests_go_on(server: Server, tmp_path: Path):
    (tmp_path / "bridge.forge.limits.json").mkdir()

    await server.ask("POST")
    await server.ask("POST")

    assert server.shown == ["first", "first"]
