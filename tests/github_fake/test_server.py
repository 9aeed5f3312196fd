"""The fake on a socket: the same answers and the same faults, by a client that has no part in it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import httpx
import pytest
from fake_github import NONE, RESET, TIMEOUT, TRUNCATED, Hub, flood, serve

POST = """
import json, sys, urllib.request
url, body, headers = sys.argv[1:]
urllib.request.urlopen(urllib.request.Request(url, body.encode(), json.loads(headers)))
"""

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


async def test_it_answers_on_loopback_with_urls_that_lead_back_to_it(served):
    hub, client = served
    pulls = (await client.get("/repos/ada/engine/pulls")).json()

    assert (await client.get(pulls[0]["url"])).json()["number"] == 1
    assert hub.charged == 2


async def test_one_connection_serves_many_requests(served):
    _, client = served
    tag = (await client.get("/repos/ada/engine/pulls")).headers["etag"]
    answers = [
        await client.get("/repos/ada/engine/pulls", headers={"if-none-match": tag}),
        await client.post("/repos/ada/engine/issues/1/comments", json={"body": "ü" * 1000}),
        await client.get("/repos/ada/engine/issues/1/comments"),
    ]

    assert [answer.status_code for answer in answers] == [304, 201, 200]
    assert answers[-1].json()[0]["body"] == "ü" * 1000


async def test_a_log_is_on_another_port_that_a_redirect_leads_to_without_the_token(served):
    hub, client = served
    check = hub.check(hub.world.pull(1), "build", "failure", log="boom")
    log = await client.get(f"/repos/ada/engine/actions/jobs/{check.id}/logs", follow_redirects=True)

    assert "boom" in log.text
    assert [asked.saw_token for asked in hub.elsewhere] == [False]


@pytest.mark.parametrize(("fault", "error"), [(RESET, httpx.ReadError), (TRUNCATED, httpx.RemoteProtocolError)])
async def test_a_connection_that_ends_too_early_is_an_error(served, fault, error):
    hub, client = served
    hub.after_next(fault)

    with pytest.raises(error):
        await client.get("/repos/ada/engine/pulls")
    assert (await client.get("/repos/ada/engine/pulls")).status_code == 200


async def test_nothing_may_ever_come(served):
    hub, client = served
    hub.before_next(TIMEOUT)

    with pytest.raises(httpx.ReadTimeout):
        await client.get("/repos/ada/engine/pulls", timeout=httpx.Timeout(60, read=0.05))


async def test_far_too_much_may_come(served):
    hub, client = served
    hub.before_next(flood(10**12))

    async with client.stream("GET", "/repos/ada/engine/pulls") as response:
        assert response.status_code == 200
        assert await anext(response.aiter_bytes())


async def test_a_client_that_is_killed_after_the_effect_leaves_it_done_and_the_server_well(served):
    hub, client = served
    url = f"{hub.api_url}/repos/ada/engine/issues/1/comments"
    headers = {"authorization": client.headers["authorization"], "content-type": "application/json"}
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", POST, url, '{"body": "x"}', json.dumps(headers))
    hub.after_next(killed.kill, on="POST *")

    assert await killed.wait() == -signal.SIGKILL
    assert [post.body for post in hub.posts("ada")] == ["x"]
    assert (await client.get("/repos/ada/engine/pulls")).status_code == 200


async def test_what_breaks_the_contract_is_a_500_and_is_kept(served):
    hub, client = served
    answer = await client.get("/repos/ada/engine/nonsense")

    assert answer.status_code == 500
    assert "the slice has no such path" in hub.broken[0]
    hub.broken.clear()


async def test_enterprise_is_served_below_its_base_path(clock):
    hub = Hub(clock, api_url="https://ghe.example.test/api/v3", limits=NONE)
    async with serve(hub) as at, httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(
            f"{at.api_url}/repos/ada/engine/branches/main", headers={"authorization": f"token {hub.token('ada')}"}
        )

    assert at.api_url.endswith("/api/v3")
    assert answer.json()["commit"]["url"].startswith(f"{at.api_url}/repos/ada/engine/commits/")
