"""An exchange that cannot be opened makes the work wait, and counts as no attempt."""

from __future__ import annotations

from workbench import Run, Workbench


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
