"""Runs through the exchange: what lives on, what ends, and that each is done once, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from run_pools import ForkedPool
from stage import until

from prloom import processes
from prloom.agents import run_ancestry, run_folder, run_message, run_spec, run_status, runner
from prloom.agents.agent import RunRequest
from prloom.agents.programs import command
from prloom.agents.run_spec import RunLimits
from prloom.agents.run_status import RunFinished
from prloom.engine.runs.run_exchange import RunExchange
from prloom.engine.runs.run_waits import RunWaits
from prloom.exchange import connect
from prloom.exchange.claim import Completed
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore
from prloom.model.record import Timestamp
from prloom.model.work_report import RunWait

SLOW = "import time; print('up', flush=True); time.sleep(600)"
COUNTED = "open('begun', 'a').write('x'); print('done')"


class Bench:
    """An exchange, the dispatchers that use it, and the pools that they have started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder / "exchange.db")
        self.pools: list[ForkedPool] = []
        self.opened: list[RunExchange] = []

    def dispatcher(self, waits: RunWaits | None = None, *, check_interval: float = 0.05) -> RunExchange:
        """Return what one dispatcher has of the runs; each is told at once of what has died."""
        keep = timedelta(days=30)
        opened = RunExchange(self.name, 2, self._start, keep=keep, waits=waits, check_interval=check_interval)
        self.opened.append(opened)
        return opened

    def _start(self, exchange: str, workers: int) -> ForkedPool:
        self.pools.append(ForkedPool(exchange, workers, os.environ))
        return self.pools[-1]

    def prepare(self, program: str) -> Path:
        """Prepare a run of a Python program."""
        argv = (sys.executable, "-S", "-E", "-c", textwrap.dedent(program))
        request = RunRequest(
            prompt="", stage="triage", cwd=self.folder, root=self.folder, rights="read", plan="pr-7", argv=argv
        )
        folder = self.folder / run_spec.new_id(datetime.now(UTC), "triage")
        return runner.prepare(folder, command, request, environ=os.environ, limits=RunLimits(grace_seconds=0.3))

    def exchange(self) -> Exchange:
        return connect(self.name)

    @property
    def begun(self) -> int:
        """How often a counted run was begun."""
        return len((self.folder / "begun").read_text())


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for each in bench.opened:
        await each.close()


def up(folder: Path) -> Callable[[], object]:
    return lambda: run_folder.read(folder, run_folder.OUTPUT) and run_folder.read(folder, run_folder.SUPERVISOR)


def agent_of(folder: Path) -> psutil.Process:
    watch = run_folder.load(folder, run_folder.SUPERVISOR, run_folder.ProcessWatch)
    assert watch is not None
    return psutil.Process(watch.agent.pid)


def kill(pool: ForkedPool, *, workers: bool) -> None:
    """Kill a pool's first process, and its workers or none of them."""
    assert pool.process.pid is not None
    first = psutil.Process(pool.process.pid)
    below = first.children()
    first.kill()
    if workers:
        while processes.living(first.pid):  # it may die later than they do, which would be another case
            time.sleep(0.001)
        processes.kill(below)


async def test_a_run_is_a_message_like_any_other(bench: Bench):
    folder = bench.prepare(COUNTED)

    await bench.dispatcher().run(folder)

    with bench.exchange() as exchange:
        entry = exchange.inspect(folder.name)
        (reply,) = exchange.read(topic="agent.triage.completed")
        waiting = {each.topic: each.ready for each in exchange.stats()}
    assert waiting == {"agent.triage": 0, "agent.triage.completed": 0}  # the reply was read
    assert (entry.message.topic, entry.delivery.key, entry.delivery.ending) == (
        "agent.triage",
        folder.name,
        "completed",
    )
    assert run_message.read_message(entry.message.body).plan == "pr-7"
    assert run_message.read_reply(reply.body).result.message == "done"


async def test_a_run_that_has_ended_waits_for_nothing(bench: Bench):
    folder, waits = bench.prepare(COUNTED), RunWaits()
    waits.waiting[folder.name] = RunWait(reason="no machine does it", since=Timestamp.of(datetime.now(UTC)))

    await bench.dispatcher(waits, check_interval=60).run(folder)

    assert waits.waiting == {}


async def test_runs_that_ended_long_ago_are_removed_and_what_others_published_is_not(bench: Bench):
    def ended(exchange: Exchange, body: str, *, producer: str) -> None:
        exchange.publish("agent.triage", body, producer=producer)
        claimed = exchange.claim("agent.triage")
        assert claimed is not None
        claimed.complete("{}")

    with Exchange(SqliteStore(bench.name, clock=lambda: datetime.now(UTC) - timedelta(days=31))) as long_ago:
        ended(long_ago, "old", producer="prloom")
        ended(long_ago, "theirs", producer="ada")
    with bench.exchange() as exchange:
        ended(exchange, "new", producer="prloom")

        await bench.dispatcher().run(bench.prepare(COUNTED))
        await until(lambda: len(exchange.read(topic="agent.triage")) == 3)

        assert [each.body for each in exchange.read(topic="agent.triage")][:2] == ["theirs", "new"]


async def test_a_run_that_several_dispatchers_publish_is_done_once(bench: Bench):
    folder = bench.prepare(COUNTED)

    first, second = await asyncio.gather(bench.dispatcher().run(folder), bench.dispatcher().run(folder))
    third = await bench.dispatcher().run(folder, found=True)

    assert first == second == third
    assert bench.begun == 1


async def test_a_run_whose_message_was_pruned_is_not_done_again(bench: Bench):
    folder = bench.prepare(COUNTED)
    first = await bench.dispatcher().run(folder)
    with bench.exchange() as exchange:
        exchange.store.prune(run_spec.started_at(folder.name) - datetime.now(UTC))  # type: ignore[operator]

    again = await bench.dispatcher().run(folder, found=True)

    assert again == first
    assert bench.begun == 1


async def test_a_pool_that_is_killed_without_its_workers_ends_no_run(bench: Bench, tmp_path: Path):
    go = tmp_path / "go"
    os.mkfifo(go)
    folder, exchange = (
        bench.prepare(f"print('up', flush=True); open({str(go)!r}).read(); {COUNTED}"),
        bench.dispatcher(),
    )
    running = asyncio.create_task(exchange.run(folder))
    await until(up(folder))

    kill(bench.pools[0], workers=False)
    await until(lambda: len(bench.pools) == 2)
    await asyncio.to_thread(go.write_text, "")

    assert (await running).status == "ok"
    assert (await exchange.run(bench.prepare("print('next')"))).message == "next"
    assert bench.begun == 1


@pytest.mark.parametrize("agent", [False, True], ids=["alone", "with the agent"])
async def test_a_pool_that_is_killed_interrupts_its_runs_and_another_one_does_the_next(bench: Bench, *, agent: bool):
    folder, exchange = bench.prepare(SLOW), bench.dispatcher()
    running = asyncio.create_task(exchange.run(folder))
    await until(up(folder))
    started = agent_of(folder)

    kill(bench.pools[0], workers=True)
    if agent:
        started.kill()
    result = await running

    assert (result.status, result.trouble) == ("interrupted", "lost")
    assert processes.tagged(run_ancestry.RUN_VARIABLE, folder.name) == []
    assert (await exchange.run(bench.prepare("print('next')"))).message == "next"


async def test_an_agent_that_is_killed_alone_has_failed(bench: Bench):
    folder, exchange = bench.prepare(SLOW), bench.dispatcher()
    running = asyncio.create_task(exchange.run(folder))
    await until(up(folder))

    agent_of(folder).kill()

    assert (await running).trouble == "killed"


async def test_a_run_that_its_dispatcher_gives_up_is_ended_and_is_no_failed_attempt(bench: Bench):
    folder, exchange = bench.prepare(SLOW), bench.dispatcher()
    running = asyncio.create_task(exchange.run(folder))
    await until(up(folder))

    running.cancel()
    await asyncio.wait([running])
    await exchange.close()

    end = run_status.inspect(folder)
    assert isinstance(end, RunFinished)
    assert end.exit.ended_by == "terminated"
    again = await bench.dispatcher().run(folder, found=True)
    assert (again.status, again.trouble) == ("interrupted", "stopped")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param("what?", "this is not the reply of a run: ", id="no reply"),
        pytest.param(
            "x" * 60_000_000,
            f"the reply has 60000000 bytes, over the limit of {run_message.LONGEST_REPLY}; it was not read",
            id="too long",
        ),
    ],
)
async def test_an_answer_that_is_no_reply_fails_the_run(bench: Bench, body: str, error: str):
    folder = bench.prepare(SLOW)
    exchange = bench.dispatcher()
    running = asyncio.create_task(exchange.run(folder))
    await until(up(folder))
    with bench.exchange() as other:
        claim = other.inspect(folder.name).claims[-1]
        other.store.settle(claim.id, Completed(body=body))

    result = await running

    assert (result.status, result.trouble) == ("failed", "lost")
    assert result.error is not None
    assert result.error.startswith(error)
