"""The host's client: the token for one host, answers within bounds, and never faster than the server allows."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from prloom.api import HttpError, HttpNeeds
from prloom.errors import PrloomError
from prloom.transport import client

LEFT = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": "1767272400"}
NewWire = Callable[..., Any]


async def failure(wire: Any, method: str = "GET", url: str = "things", **more: Any) -> HttpError:
    with pytest.raises(HttpError) as caught:
        await wire.client.request(method, url, **more)
    return caught.value


async def patiently(wire: Any, method: str) -> None:
    """Ask, and come again when it is time."""
    try:
        await wire.client.request(method, "things")
    except HttpError as error:
        wire.now = error.retry_at


def redirecting(**places: str) -> Callable[[httpx.Request], httpx.Response]:
    """Return answers that send on from each path's last part to an address, by the status after its name."""

    def answer(request: httpx.Request) -> httpx.Response:
        where = places.get(request.url.path.rpartition("/")[2])
        return httpx.Response(302, headers={"location": where}) if where else httpx.Response(200, json=["there"])

    return answer


# ---- what is sent


@pytest.mark.parametrize("url", ["http://[::1", "https://api.example:port/things", "//[x"])
async def test_an_address_that_is_not_valid_is_an_error_of_that_request(wire: Any, url: str) -> None:
    error = await failure(wire, url=url)

    assert (error.trouble, str(error)[:29]) == ("unknown", "GET: the address is not valid")
    assert wire.sent == []


async def test_a_path_is_one_below_the_base_address(wire: Any) -> None:
    await wire.client.request("GET", "repos/a/b?page=2")

    assert str(wire.sent[0].url) == "https://api.example/v3/repos/a/b?page=2"


async def test_each_request_has_the_user_agent_and_the_bridges_headers(wire: Any) -> None:
    await wire.client.request("GET", "things", etag='W/"1"', headers={"range": "bytes=0-9"})

    sent = {name: wire.told(name)[0] for name in ("user-agent", "accept", "authorization", "if-none-match", "range")}
    assert sent == {
        "user-agent": "prloom",
        "accept": "x/y",
        "authorization": "Bearer secret-token",
        "if-none-match": 'W/"1"',
        "range": "bytes=0-9",
    }


async def test_without_a_token_nothing_is_sent_in_its_place(new_wire: NewWire) -> None:
    wire = new_wire(token=None)

    await wire.client.request("GET", "things")

    assert wire.told("authorization") == [None]


async def test_requests_go_out_one_after_the_other(wire: Any) -> None:
    under_way = []

    async def answer(request: httpx.Request) -> httpx.Response:
        under_way.append(request)
        assert len(under_way) == 1
        await asyncio.sleep(0)
        under_way.clear()
        return httpx.Response(200)

    wire.client._http._transport = httpx.MockTransport(answer)

    await asyncio.gather(*(wire.client.request("GET", "things") for _ in range(20)))


# ---- the token


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/x",
        "http://api.example/v3/x",
        "https://api.example:444/x",
        "//evil.example/x",
        "https://api.example@evil.example/x",
        "https://API.example.evil.example/x",
    ],
)
async def test_a_redirect_never_carries_the_token_to_another_host(new_wire: NewWire, elsewhere: str) -> None:
    wire = new_wire(redirecting(things=elsewhere))

    answer = await wire.client.request("GET", "things", headers={"x-mine": "1"})

    assert ["secret-token" in str(told) for told in wire.told("authorization")] == [True, False]
    assert wire.told("x-mine") == ["1", None]
    assert answer.json() == ["there"]


@pytest.mark.parametrize("here", ["https://api.example:443/v3/x", "https://API.EXAMPLE/x", "/x", "x"])
async def test_a_redirect_on_the_same_host_keeps_the_token(new_wire: NewWire, here: str) -> None:
    wire = new_wire(redirecting(things=here))

    await wire.client.request("GET", "things")

    assert wire.told("authorization") == ["Bearer secret-token"] * 2


async def test_an_address_on_another_host_is_requested_without_the_token(wire: Any) -> None:
    await wire.client.request("GET", "https://logs.example/x?sig=1")

    assert wire.told("authorization") == [None]
    assert wire.client.usage.total == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_what_writes_is_not_sent_to_another_host(new_wire: NewWire, status: int) -> None:
    wire = new_wire(lambda request: httpx.Response(status, headers={"location": "https://evil.example/"}))

    error = await failure(wire, "POST", body={"secret": 1})

    assert (error.trouble, len(wire.sent)) == ("refused", 1)


async def test_what_writes_follows_a_renamed_repository_with_its_body(new_wire: NewWire) -> None:
    moved = httpx.Response(307, headers={"location": "/v3/repositories/1"})
    wire = new_wire(lambda request: moved if request.url.path.endswith("things") else httpx.Response(201, json={}))

    await wire.client.request("POST", "things", body={"a": 1})

    assert [request.content for request in wire.sent] == [b'{"a":1}'] * 2


@pytest.mark.parametrize("location", [None, "", "http://[", "/things"])
async def test_a_redirect_that_leads_nowhere_is_given_up(new_wire: NewWire, location: str | None) -> None:
    headers = {} if location is None else {"location": location}
    wire = new_wire(lambda request: httpx.Response(302, headers=headers))

    assert (await failure(wire)).trouble == "unknown"


async def test_neither_logs_nor_errors_have_the_token(new_wire: NewWire, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("broken"):
            raise httpx.ReadError(f"could not send {request.headers['authorization']}", request=request)
        return httpx.Response(400, text=f"you sent {request.headers['authorization']}")

    wire = new_wire(answer)

    told = [await failure(wire, url="broken"), await failure(wire, url="https://api.example/v3/x?sig=secret-token")]

    assert not any("secret-token" in f"{error} {error.body} {error.__cause__}" for error in told)
    assert "secret-token" not in caplog.text
    assert told[1].body == "you sent Bearer ***"


@pytest.mark.parametrize("token", ["to\nken", "to ken", "größe", "a\x00b"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(new_wire: NewWire, token: str) -> None:
    with pytest.raises(PrloomError) as caught:
        new_wire(token=token)

    assert str(caught.value) == (
        "the token contains a space or another character that is not allowed; set it again, without line breaks"
    )


# ---- the answer


async def test_an_answer_that_is_still_right_is_free(new_wire: NewWire) -> None:
    wire = new_wire(lambda request: httpx.Response(304))

    answer = await wire.client.request("GET", "things", etag='"1"')

    assert answer.unchanged
    assert (wire.client.usage.total, wire.client.usage.charged) == (1, 0)


async def test_without_a_token_such_an_answer_is_not_free(new_wire: NewWire) -> None:
    wire = new_wire(lambda request: httpx.Response(304), token=None)

    await wire.client.request("GET", "things", etag='"1"')

    assert wire.client.usage.charged == 1


async def test_it_counts_what_was_requested_and_what_is_left(new_wire: NewWire) -> None:
    wire = new_wire(lambda request: httpx.Response(200, headers=LEFT))

    await wire.client.request("GET", "things")

    assert (wire.client.usage.total, wire.client.usage.charged, wire.client.usage.remaining) == (1, 1, 4000)


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (400, "refused"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "gone"),
        (405, "refused"),
        (409, "refused"),
        (410, "gone"),
        (418, "unknown"),
        (422, "refused"),
        (429, "limited"),
        (500, "unknown"),
        (502, "unknown"),
        (503, "unknown"),
    ],
)
async def test_only_404_and_410_mean_gone(new_wire: NewWire, status: int, trouble: str) -> None:
    wire = new_wire(lambda request: httpx.Response(status, text="because"))

    error = await failure(wire)

    assert (error.trouble, error.status, error.body) == (trouble, status, "because")
    assert str(error) == f"GET /v3/things: {status}"


@pytest.mark.parametrize(
    "raised", [httpx.ConnectError("no"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut"), ValueError("odd")]
)
async def test_what_breaks_on_the_way_is_unknown(new_wire: NewWire, raised: Exception) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise raised

    assert (await failure(new_wire(answer), "POST")).trouble == "unknown"


async def test_an_answer_is_bounded_in_size(new_wire: NewWire) -> None:
    taken = []

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                taken.append(1)
                yield b" " * 1024 * 1024

    wire = new_wire(lambda request: httpx.Response(200, stream=Endless()))

    error = await failure(wire)

    assert (error.trouble, str(error)) == ("unknown", "/v3/things: the answer is larger than 33554432 bytes")
    assert len(taken) <= client.LARGEST // 1024 // 1024 + 1


# ---- limits


async def test_between_two_writes_is_a_pause_and_between_two_reads_none(wire: Any, noon: Any) -> None:
    for method in ("POST", "GET", "GET", "PATCH", "DELETE"):
        await wire.client.request(method, "things")

    assert [(at - noon).total_seconds() for at in wire.times] == [0, 0, 0, 1, 2]


async def test_no_more_is_written_in_a_minute_and_in_an_hour_than_is_allowed(new_wire: NewWire) -> None:
    wire = new_wire(needs=HttpNeeds("https://api.example", writes_per_minute=10, writes_per_hour=30))
    for _ in range(500):
        await patiently(wire, "POST")

    for span, most in ((timedelta(minutes=1), 10), (timedelta(hours=1), 30)):
        assert max(sum(at <= each < at + span for each in wire.times) for at in wire.times) == most


async def test_no_more_is_requested_in_a_minute_than_is_allowed(new_wire: NewWire) -> None:
    wire = new_wire(needs=HttpNeeds("https://api.example", points_per_minute=20))
    for _ in range(100):
        await patiently(wire, "GET")

    minute = timedelta(minutes=1)
    assert max(sum(at <= each < at + minute for each in wire.times) for at in wire.times) == 20


async def test_a_long_pause_is_not_slept_through(new_wire: NewWire, noon: Any) -> None:
    wire = new_wire(lambda request: httpx.Response(429, headers={"retry-after": "90"}))
    await failure(wire)

    error = await failure(wire)

    assert (error.trouble, error.retry_at, len(wire.sent)) == ("limited", noon + timedelta(seconds=90), 1)
    assert str(error) == "GET /v3/things was not sent: a limit of the server allows it again at 12:01:30 UTC"


async def test_a_pause_until_another_day_is_told_with_its_date(new_wire: NewWire) -> None:
    wire = new_wire(lambda request: httpx.Response(429, headers={"retry-after": "86400"}))
    await failure(wire)

    error = await failure(wire)

    assert re.search(r"allows it again at \d{4}-\d\d-\d\d 12:00:00 UTC$", str(error))


async def test_a_short_pause_is_slept_through(new_wire: NewWire) -> None:
    answers = iter([httpx.Response(503, headers={"retry-after": "3"}), httpx.Response(200)])
    wire = new_wire(lambda request: next(answers))
    await failure(wire)

    await wire.client.request("GET", "things")

    assert wire.slept == [3.0]


async def test_an_allowance_of_graphql_is_not_that_of_everything(new_wire: NewWire) -> None:
    spent = {**LEFT, "x-ratelimit-remaining": "0", "x-ratelimit-resource": "graphql"}
    wire = new_wire(lambda request: httpx.Response(200, headers=spent if "graphql" in request.url.path else LEFT))
    await wire.client.request("POST", "graphql")

    await wire.client.request("GET", "things")

    assert (await failure(wire, "POST", "graphql")).trouble == "limited"
