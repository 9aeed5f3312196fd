"""What a run came to that has no result: by the claims of its message, where no worker of this machine has begun it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import run_messages

from prloom.agents import run_folder, run_message
from prloom.engine.machine import workers
from prloom.engine.runs import records, run_end
from prloom.engine.runs.run_end import RunEnd
from prloom.exchange import validation
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import Failed
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.message import Draft
from prloom.model.run import RunRecord

RUN = "20261121T201532299Z-worker-1a2b3c4d"
TOPIC = "agent.worker"
REFUSAL = f"run {RUN}: refused by m2: this machine does not run the agent claude"


class Bench:
    """A run that is published, on an exchange whose time is the test's."""

    def __init__(self, folder: Path) -> None:
        self.now = datetime(2026, 11, 21, 20, 15, tzinfo=UTC)
        self.folder = folder / RUN
        run_folder.create(self.folder, {})
        self.exchange = Exchange(MemoryStore(clock=lambda: self.now))
        body = run_message.encode(run_messages.a_message())
        self._draft = Draft(id=RUN, key=RUN, topic=TOPIC, body=body, max_attempts=1)
        self.exchange.publish_all([self._draft])

    def claim(self, worker: str) -> Callable[[], object]:
        """Have a worker take the run; call what is returned to have it give the run up for good."""
        claimed = self.exchange.claim(TOPIC, instance=worker, lease=timedelta(minutes=1))
        assert claimed is not None
        refused = Failed(error=REFUSAL, metadata={run_message.MACHINE: "m2"}, retry=True)
        return lambda: claimed.settle(refused)

    async def end(self) -> RunEnd:
        reply = self.exchange.find_reply(RUN)
        assert reply is not None
        return await run_end.of_reply(self.folder, self._draft, reply, AsyncExchange(self.exchange))

    @property
    def record(self) -> RunRecord:
        return records.build(self.folder, "work", self.now)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_run_whose_tries_machines_have_used_up_is_refused_with_the_last_reason(bench: Bench):
    bench.claim("m2-machine-12-abcdef")()

    end = await bench.end()

    assert (end.reply.result.status, end.reply.result.trouble, end.machine) == ("failed", "refused", "m2")
    assert end.reply.result.error == f"{REFUSAL} (attempt 1, the last one)"
    assert bench.record.refused


async def test_a_refused_run_whose_agent_some_machine_has_started_counts_like_any_other(bench: Bench):
    bench.claim("m2-machine-12-abcdef")()
    run_folder.write_new(bench.folder, run_folder.ELSEWHERE, b"m1")

    await bench.end()

    assert not bench.record.refused


async def test_a_run_that_is_lost_with_each_of_its_workers_has_failed(bench: Bench):
    bench.claim("m2-machine-12-abcdef")
    bench.now += timedelta(minutes=2)

    end = await bench.end()

    assert (end.reply.result.status, end.reply.result.trouble, end.machine) == ("failed", "lost", None)
    assert "the lease of worker m2-machine-12-abcdef ran out" in (end.reply.result.error or "")
    assert not bench.record.refused


async def test_a_run_that_is_stopped_on_another_machine_names_it_and_how_long_it_ran(bench: Bench):
    bench.claim("m2-machine-12-abcdef")
    bench.now += timedelta(seconds=23)
    bench.exchange.cancel(RUN, "prloom stop")

    end = await bench.end()

    assert (end.reply.result.status, end.reply.result.trouble, end.machine) == ("interrupted", "stopped", "m2")
    assert end.reply.result.error == "prloom ended the run on m2 after 23 s"


@pytest.mark.parametrize("refused", [False, True], ids=["by nobody", "by one that has refused it"])
async def test_a_run_that_is_stopped_while_no_machine_has_it_never_began(bench: Bench, *, refused: bool):
    if refused:
        claimed = bench.exchange.claim(TOPIC, instance="m2-machine-12-abcdef")
        assert claimed is not None
        claimed.release("refused by m2", delay=timedelta(seconds=1))
    bench.now += timedelta(seconds=23)
    bench.exchange.cancel(RUN, "prloom stop")

    end = await bench.end()

    assert end.machine is None
    assert end.reply.result.error == "the run was ended before it began"


def test_a_worker_of_a_machine_is_known_by_its_name():
    host = validation.new_instance().rsplit("-", 2)[0]

    assert run_message.machine_of(workers.new_instance()) == host
    assert run_message.machine_of(validation.new_instance()) is None
    assert validation.process_of(workers.new_instance()) is None
