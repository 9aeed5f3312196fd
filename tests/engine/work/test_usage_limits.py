"""A usage limit of an agent program that a worker meets: a wait for all plans, and no attempt."""

from __future__ import annotations

from workbench import FAST, Run, Workbench

from prloom.engine.adoption import adopt
from prloom.model import record
from prloom.model.state import DispatchState
from prloom.workspace import repository

LIMITED = Run(code='sys.exit("usage limit reached; try again in 3 hours")', answer=None)


async def test_a_workers_usage_limit_makes_all_plans_wait_and_counts_as_no_attempt(bench: Workbench):
    bench.project.git("branch", "other")
    repo = repository.find(bench.project.root)
    adopt.adopt_branch(repo, bench.stage.config, "other", plan_id=None, preset=None, now=bench.stage.clock())
    other = bench.stage.paths.worktree("other") / "prloom/.local/plan.md"
    bench.script(LIMITED, FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()

    async with bench.stage.rounds() as again:
        await again()
        with other.open("a") as file:
            file.write("- [ ] Make it fast\n")
        await again()

        waiting = [bench.state.work, record.from_wire(DispatchState, bench.stage.state("other")).work]
        assert bench.runs() == 1
        for work in waiting:
            assert work is not None
            assert (work.attempt, work.failures) == (1, 0)
            assert "usage limit reached" in (work.waits_for or "")
            assert work.retry_at is not None

        ends = max(work.retry_at for work in waiting if work is not None and work.retry_at is not None)
        bench.stage.clock.advance(seconds=(ends - bench.stage.clock()).total_seconds() + 1)
        await again()

    assert bench.commits == ["Be fast"]
