"""An exchange that cannot be opened, or goes away, makes the work wait, and counts as no attempt."""

from __future__ import annotations

from pathlib import Path

from workbench import Run, Workbench

from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.runs.run_end import RunEnd
from prloom.engine.runs.run_exchange import RunExecutor
from prloom.engine.work.todo_worker import TodoWorker
from prloom.errors import AgentError


class AwayExchange:
    """An exchange that goes away while the first run goes on, and whose reply is there when it is back."""

    def __init__(self, real: RunExecutor) -> None:
        self._real = real
        self.asked: list[bool] = []

    async def start(self) -> None:
        await self._real.start()

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        self.asked.append(found)
        end = await self._real.outcome(folder, found=found)
        if len(self.asked) == 1:
            raise AgentError(f"run {folder.name} cannot be done: the server is away")
        return end

    async def cancel(self, run: str, reason: str) -> bool:
        return await self._real.cancel(run, reason)

    async def close(self) -> None:
        await self._real.close()


async def test_a_todo_waits_for_an_exchange_that_cannot_be_opened_and_no_attempt_is_counted(bench: Workbench):
    bench.script(Run({"fast.py": "fast\n"}))
    bench.todo("- [ ] Make it fast")
    database = bench.project.root / "prloom/.local/exchange.db"
    database.mkdir(parents=True)

    await bench.tick()

    work = bench.state.work
    assert work is not None
    assert (work.phase, work.attempt, work.failures) == ("ready", 1, 0)
    assert "the exchange of the runs cannot be opened" in (work.waits_for or "")
    assert work.retry_at is not None
    verdicts = [each["work"]["verdict"] for each in bench.stage.decisions("work") if each.get("work")]
    assert "started" not in verdicts
    database.rmdir()
    bench.stage.clock.advance(minutes=10)
    await bench.tick()
    assert bench.runs() == 1
    assert bench.boxes == ["- [x] Make it fast"]


async def test_a_run_whose_exchange_goes_away_is_waited_for_and_not_done_again(bench: Workbench):
    bench.script(Run({"fast.py": "fast\n"}))
    bench.todo("- [ ] Make it fast")
    bench.employ()
    worker = bench.stage.todo_worker
    assert isinstance(worker, TodoWorker)
    assert isinstance(worker.pool, AgentPool)
    worker.pool.runs = AwayExchange(worker.pool.runs)

    await bench.stage.tick()

    work = bench.state.work
    assert work is not None
    assert (work.phase, work.attempt, work.failures) == ("running", 1, 0)
    assert "the server is away" in (work.waits_for or "")
    await bench.stage.tick_after(minutes=10)
    assert worker.pool.runs.asked == [False, True]
    assert (bench.runs(), bench.boxes) == (1, ["- [x] Make it fast"])
    assert len(bench.commits) == 1
