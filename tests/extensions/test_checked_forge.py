"""What a forge's bridge returns and raises: what does not fit the protocol is an error that names the field."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from forge_bridge import ForgeBridge

from prloom.api import BridgeContext, PostedComment, PullRequest
from prloom.errors import ExtensionError
from prloom.extensions.checked_forge import CheckedForge

PULL = PullRequest(1, "Faster", "", "topic", "main", "open", "https://forge.example/1", "abc")


class OddForge(ForgeBridge):
    """Returns what the test gives it, or raises it."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        return self.result

    async def own_login(self, ctx: BridgeContext) -> str | None:
        return self.result

    async def upsert_comment(self, ctx: BridgeContext, number: int, **about: Any) -> PostedComment:
        return self.result


@pytest.fixture
def ctx(tmp_path: Path) -> BridgeContext:
    return BridgeContext(tmp_path, (), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ("#1", "pull_request() returned str, not PullRequest or None; correct the bridge"),
        (
            replace(PULL, body=None),  # type: ignore[arg-type]
            "pull_request() returned a wrong field: `body` of PullRequest is None, not str; correct the bridge",
        ),
        (
            replace(PULL, number="1"),  # type: ignore[arg-type]
            "pull_request() returned a wrong field: `number` of PullRequest is str, not int; correct the bridge",
        ),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError: the bridge waited for a task that was cancelled"),
    ],
)
async def test_what_does_not_fit_is_an_error_of_the_bridge(ctx: BridgeContext, result: Any, problem: str) -> None:
    with pytest.raises(ExtensionError) as raised:
        await CheckedForge(OddForge(result)).pull_request(ctx, 1)

    assert str(raised.value) == problem


async def test_one_of_several_pull_requests_that_does_not_fit_is_an_error(ctx: BridgeContext) -> None:
    forge = CheckedForge(OddForge([PULL, replace(PULL, labels="bug")]))  # type: ignore[arg-type]

    with pytest.raises(ExtensionError, match="`labels` of PullRequest is str, not a list of str"):
        await forge.open_pull_requests(ctx)


async def test_what_fits_is_returned_as_it_is(ctx: BridgeContext) -> None:
    comment = PostedComment("c-1", None, "hello")

    assert await CheckedForge(OddForge(PULL)).pull_request(ctx, 1) is PULL
    assert await CheckedForge(OddForge(None)).pull_request(ctx, 1) is None
    assert await CheckedForge(OddForge([PULL])).open_pull_requests(ctx) == [PULL]
    assert await CheckedForge(OddForge("ann")).own_login(ctx) == "ann"
    assert await CheckedForge(OddForge(comment)).upsert_comment(ctx, 1, marker="m", body="hello") is comment


async def test_a_cancellation_that_prloom_requests_is_passed_on(ctx: BridgeContext) -> None:
    asked = asyncio.Event()

    class Slow(ForgeBridge):
        async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
            asked.set()
            await asyncio.Event().wait()
            return None

    task = asyncio.create_task(CheckedForge(Slow()).pull_request(ctx, 1))
    await asked.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
