"""A call of a tool that waits at a running dispatcher is allowed or denied on the page, and by the keys of `top`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from stage import Stage, until
from tool_bench import ToolBench, call
from web_browser import Browser

from prloom.api import PluginContext
from prloom.cli.context import Options
from prloom.model.permission import Choice
from prloom.top.actions import Operator
from prloom.top.rows import Subject


def deploying(ctx: PluginContext) -> None:
    ctx.register_tool("deploy", {}, lambda: "deployed", requires_confirmation=True)


@asynccontextmanager
async def a_call_that_waits(stage: Stage) -> AsyncIterator[tuple[str, asyncio.Task[dict[str, Any]]]]:
    """Have a dispatcher at work, and a call that waits for a person; yield the request and the call."""
    stage.adopt()
    (stage.local() / "plan.md").write_text("# Greet people\n\n- [ ] Say hello\n")
    stage.plugin("ops", deploying)
    bench = ToolBench(stage)
    async with bench.open() as parts:
        folder = bench.prepare(parts)
        async with bench.running(parts, folder):
            calling = asyncio.create_task(call(parts, folder, "deploy"))
            await until(lambda: bool(parts.people.confirmations.requests))
            yield parts.people.confirmations.requests[0].id, calling


@pytest.mark.parametrize(
    ("action", "said", "data"),
    [
        ("allow", "Allowed: deploy in pr-7.", "deployed"),
        ("allow-always", "Allowed, with all later calls for the plan: deploy in pr-7.", "deployed"),
        ("deny", "Denied: deploy in pr-7.", None),
    ],
)
async def test_a_call_that_waits_at_the_dispatcher_is_decided_by_the_page(
    stage: Stage, browser: Browser, action: str, said: str, data: Any
):
    async with a_call_that_waits(stage) as (request, calling):
        shown = await asyncio.to_thread(browser.act, action, id=request)
        ended = await calling

    assert shown == said
    assert ended.get("data") == data


@pytest.mark.parametrize(("choice", "data"), [("allow", "deployed"), ("allow_always", "deployed"), ("deny", None)])
async def test_a_call_that_waits_at_the_dispatcher_is_decided_by_a_key(stage: Stage, choice: Choice, data: Any):
    keys = Operator(stage.paths, Options(str(stage.root)))
    async with a_call_that_waits(stage) as (request, calling):
        shown = await asyncio.to_thread(keys.decide, Subject("deploy", "pr-7", request=request), choice)
        ended = await calling

    assert shown.endswith(": deploy in pr-7.")
    assert ended.get("data") == data
