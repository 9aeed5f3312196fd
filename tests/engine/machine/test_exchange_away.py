"""The exchange's database goes away in the middle of a run, and comes back: the run is done once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import postgres_server
import pytest
from postgres_server import Server
from workbench import Run

if TYPE_CHECKING:
    from conftest import MachineBench, OtherMachine

    Make = Callable[[str], OtherMachine]

PATIENCE = 60.0


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the test's own, which it may stop."""
    with postgres_server.stoppable() as server:
        yield server


@pytest.fixture
def exchange_url(server: Server) -> str:
    return server.url


async def test_a_run_whose_database_crashes_and_comes_back_is_done_once_and_the_next_one_too(
    bench: MachineBench, server: Server, other: OtherMachine
):
    gate = other.home / "gate"
    waits = f"import time\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.02)"
    answer = {"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"}
    small = Run({"small.py": "small\n"}, answer={**answer, "commitMessage": "Be small"})
    other.script(Run({"fast.py": "fast\n"}, code=waits, answer=answer), small)
    other.start()
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())
    async with asyncio.timeout(PATIENCE):
        while not (other.home / "worker-0.md").exists():  # noqa: ASYNC110 - another machine's agent writes it
            await asyncio.sleep(0.02)

    server.stop(signal.SIGQUIT)
    gate.touch()
    await asyncio.to_thread(server.start)

    async with asyncio.timeout(PATIENCE):
        await tick
    assert bench.commits == ["Be fast"]
    assert len(list(other.home.glob("worker-*.md"))) == 1
    assert [each["work"]["verdict"] for each in bench.stage.decisions("work") if each.get("work")].count("started") == 1

    await bench.work_on("- [ ] Make it small")
    assert bench.commits == ["Be fast", "Be small"]
    assert "completed" in await asyncio.to_thread(other.stop)
    assert other.left == []
