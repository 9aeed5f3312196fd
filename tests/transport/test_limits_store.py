"""What one process knew of the limits, the next one knows: killed, damaged, with a clock that went back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from prloom.api import HttpError, HttpNeeds
from prloom.transport import limits, limits_store
from prloom.transport.limits import Primary, RateLimits

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
SERVER = "https://api.example/v3/"
NewWire = Callable[..., Any]


class Paper:
    """A memory that survives its process; what is written on it is JSON."""

    def __init__(self) -> None:
        self.text = "null"
        self.saves = 0

    def load(self) -> Any:
        return json.loads(self.text)

    def save(self, value: Mapping[str, Any]) -> None:
        self.saves += 1
        self.text = json.dumps(value)


def again(known: RateLimits, *, saved: datetime = NOON, now: datetime = NOON, most: int = 500) -> RateLimits:
    found = json.loads(json.dumps(limits_store.dump(known, SERVER, saved)))
    return limits_store.load(found, SERVER, now, most=most)


def times(*seconds: float) -> tuple[datetime, ...]:
    return tuple(NOON + second * SECOND for second in seconds)


# ---- as values


def test_what_was_written_is_read() -> None:
    known = RateLimits({"core": Primary(5000, 10, NOON + HOUR)}, NOON + 90 * SECOND, 2, times(-10, -1.5))

    assert again(known) == known


def test_what_is_over_is_forgotten() -> None:
    known = RateLimits({"core": Primary(5000, 10, NOON)}, NOON, 0, times(-3600, -3599))

    assert again(known) == RateLimits(writes=times(-3599))


def test_of_an_unanswered_write_nobody_knows_when_it_arrived() -> None:
    known = RateLimits(writes=times(-30, -5), unanswered=True)

    assert again(known).writes == times(-30, 0)
    assert again(known, now=NOON + HOUR / 2).writes == (*times(-30), NOON - 5 * SECOND + limits_store.IN_FLIGHT)


def test_where_the_clock_went_back_a_wait_is_as_long_as_it_was() -> None:
    known = RateLimits({"core": Primary(5000, 0, NOON + HOUR)}, NOON + 90 * SECOND, 1, times(-5))
    now = NOON - 7 * HOUR

    believed = again(known, now=now)

    assert believed.closed_until == now + 90 * SECOND
    assert believed.primary["core"].reset == now + HOUR
    assert believed.writes == (now - 5 * SECOND,)


def test_no_wait_is_longer_than_the_horizon() -> None:
    year = NOON + 365 * DAY
    known = RateLimits({"core": Primary(5000, 0, year)}, year, 1, (year,))

    believed = again(known)

    assert (believed.closed_until, believed.primary["core"].reset) == (NOON + DAY, NOON + DAY)
    assert believed.writes == (NOON,)


def test_no_more_writes_are_read_than_matter() -> None:
    assert again(RateLimits(writes=times(*range(-60, 0))), most=3).writes == times(-3, -2, -1)


def test_no_more_allowances_are_kept_than_there_can_be() -> None:
    known = RateLimits({str(number): Primary(1, 0, NOON + HOUR) for number in range(1000)})

    assert len(again(known).primary) == limits_store.RESOURCES


def test_what_is_of_another_server_says_nothing() -> None:
    found = limits_store.dump(RateLimits(closed_until=NOON + HOUR), SERVER, NOON)

    assert limits_store.load(found, "https://other.example/", NOON, most=500) == RateLimits()


@pytest.mark.parametrize(
    "damaged",
    [
        [],
        "text",
        {},
        {"server": SERVER},
        {"server": SERVER, "savedAt": "yesterday"},
        {"server": SERVER, "savedAt": "2026-01-01T12:00:00"},
        {"server": SERVER, "savedAt": "2026-01-01T12:00:00Z", "strikes": "many"},
        {"server": SERVER, "savedAt": "9999-12-31T23:59:59Z", "writes": ["0001-01-01T00:00:00Z"]},
        {"server": SERVER, "savedAt": "2026-01-01T12:00:00Z", "primary": {"core": {"reset": 1}}},
    ],
)
def test_what_is_damaged_says_nothing_and_is_said(damaged: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert limits_store.load(damaged, SERVER, NOON, most=500) == RateLimits()
    assert f"the saved rate limits of {SERVER} cannot be read and are ignored" in caplog.text


# ---- through the client


def restarted(new_wire: NewWire, before: Any, paper: Paper) -> Any:
    """Return the wire of a process that comes after another one, at that one's time."""
    return new_wire(before.answers, store=paper, now=before.now)


async def test_a_client_killed_after_a_write_pauses_before_the_next(new_wire: NewWire) -> None:
    paper = Paper()
    first = new_wire(store=paper)
    await first.client.request("POST", "things")

    second = restarted(new_wire, first, paper)
    await second.client.request("POST", "things")

    assert second.slept == [1.0]


async def test_a_client_killed_while_it_writes_pauses_as_if_it_had_just_arrived(new_wire: NewWire) -> None:
    paper = Paper()
    texts: list[str] = []

    def killed(request: httpx.Request) -> httpx.Response:
        texts.append(paper.text)  # all that is left of a process that ends here
        return httpx.Response(201)

    first = new_wire(killed, store=paper)
    await first.client.request("POST", "things")
    paper.text = texts[0]
    first.now += 0.9 * SECOND
    second = restarted(new_wire, first, paper)
    await second.client.request("POST", "things")

    assert second.slept == [1.0]


async def test_a_write_that_went_wrong_is_paused_after_too(new_wire: NewWire) -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        wire.now += 10 * SECOND
        raise httpx.ReadTimeout("slow")

    wire = new_wire(broken)
    for _ in range(2):
        with pytest.raises(HttpError):
            await wire.client.request("POST", "things")

    assert wire.slept == [1.0]


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_a_client_killed_while_it_has_to_wait_sends_nothing_before_the_end(
    new_wire: NewWire, status: int
) -> None:
    paper = Paper()
    first = new_wire(lambda request: httpx.Response(status, headers={"retry-after": "90"}), store=paper)
    with pytest.raises(HttpError):
        await first.client.request("GET", "things")

    second = restarted(new_wire, first, paper)
    with pytest.raises(HttpError) as caught:
        await second.client.request("GET", "things")

    assert (caught.value.trouble, caught.value.retry_at, second.sent) == ("limited", first.now + 90 * SECOND, [])


async def test_a_client_killed_before_the_wall_of_the_allowance_sends_nothing_before_its_reset(
    new_wire: NewWire,
) -> None:
    paper = Paper()
    reset = str(int((NOON + HOUR).timestamp()))
    spent = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "250", "x-ratelimit-reset": reset}
    first = new_wire(lambda request: httpx.Response(200, headers=spent), store=paper)
    await first.client.request("GET", "things")

    second = restarted(new_wire, first, paper)
    with pytest.raises(HttpError) as caught:
        await second.client.request("GET", "things")

    assert (caught.value.retry_at, second.sent) == (NOON + HOUR, [])


async def test_reading_writes_nothing_down(new_wire: NewWire) -> None:
    paper = Paper()
    left = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": "1767272400"}
    wire = new_wire(lambda request: httpx.Response(200, headers=left), store=paper)

    for _ in range(50):
        await wire.client.request("GET", "things")

    assert paper.saves == 0


async def test_an_hour_of_writes_is_remembered_and_no_more(new_wire: NewWire) -> None:
    paper = Paper()
    needs = HttpNeeds("https://api.example/v3", pause=20.0)
    wire = new_wire(needs=needs, store=paper)

    for _ in range(300):
        wire.now += 20 * SECOND
        await wire.client.request("POST", "things")

    assert len(paper.load()["writes"]) == 180
    assert len(paper.text) < 20_000


def test_the_longest_wait_that_is_believed_is_the_horizon() -> None:
    known = limits.after_answer(RateLimits(), 429, {"retry-after": "9999999999"}, NOON, hit=True)

    assert known.closed_until == NOON + DAY
