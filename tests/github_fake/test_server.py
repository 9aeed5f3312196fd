"""The fake on a socket; its answers and its other faults are seen by `tests/transport/test_sockets.py`."""

from __future__ import annotations

import httpx
import pytest
from fake_github import NONE, TIMEOUT, Hub, serve

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
async def served(clock):
    """A served repository with a pull request, and a client of its owner."""
    hub = Hub(clock, limits=NONE)
    hub.pull()
    headers = {"authorization": f"Bearer {hub.token('ada')}"}
    async with serve(hub) as at, httpx.AsyncClient(base_url=at.api_url, headers=headers, timeout=60) as client:
        yield hub, client
    hub.verify()


async def test_nothing_may_ever_come(served):
    hub, client = served
    hub.before_next(TIMEOUT)

    with pytest.raises(httpx.ReadTimeout):
        await client.get("/repos/ada/engine/pulls", timeout=httpx.Timeout(60, read=0.05))


async def test_what_breaks_the_contract_is_a_500_and_is_kept(served):
    hub, client = served
    answer = await client.get("/repos/ada/engine/nonsense")

    assert answer.status_code == 500
    assert "the slice has no such path" in hub.broken[0]
    hub.broken.clear()
