"""A plan whose TODOs the test works on: the real core decides, the real store commits, only the worker is played."""

from __future__ import annotations

from collections.abc import Callable

from stage import Stage

from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.plans.plan_file import TodoItem
from prloom.core.work import work_failures, work_results, work_steps, worker_results
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import BlockPlan, Continue, Propose, Take, TodoStep, WorkContext, WorkRules
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.plan_files import PlanFile
from prloom.model.decision import DecisionParts
from prloom.model.kinds import DecisionStage
from prloom.model.state import DispatchState
from prloom.model.work import TodoWork
from prloom.storage.safe_dir import SafeDir

DONE = WorkerReport(end="ok", answer=WorkAnswer(outcome="done", summary="It is done."), paths=("a.py",), tree="tree")


class WorkedPlan:
    """A plan with these TODOs, `t-1`, `t-2` …; each call opens the plan's bus, decides, commits and saves."""

    def __init__(
        self,
        stage: Stage,
        *titles: str,
        plan_id: str = "pr-7",
        rules: WorkRules | None = None,
        adopt: bool = True,
        text: bool = True,
    ) -> None:
        self.stage = stage
        self.id = plan_id
        self.rules = rules or WorkRules()
        if adopt:
            stage.adopt(plan_id)
        if not text:
            return
        items = [f"- [ ] {title} <!-- prloom:todo t-{number} -->\n" for number, title in enumerate(titles, 1)]
        (stage.local(plan_id) / "plan.md").write_text("# Plan\n\n## TODO\n\n" + "".join(items))

    @property
    def ctx(self) -> WorkContext:
        return WorkContext(self.id, self.rules, self.stage.clock())

    @property
    def state(self) -> DispatchState:
        with SafeDir.make(self.stage.local(self.id) / "bus") as bus:
            return EventStore.open(bus, self.stage.clock).state

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        with SafeDir.make(self.stage.local(self.id)) as local:
            return PlanFile(local).todos()

    @property
    def work(self) -> TodoWork:
        assert self.state.work is not None
        return self.state.work

    def commit(self, parts: DecisionParts, *, by: str = "prloom", stage: DecisionStage = "work") -> None:
        """Commit a decision."""
        with SafeDir.make(self.stage.local(self.id)) as local, SafeDir.make(self.stage.local(self.id) / "bus") as bus:
            store = EventStore.open(bus, self.stage.clock, (PlanFile(local),))
            store.plan_id = self.id
            store.commit(stage, by, **parts)
            store.save()

    def next(self) -> TodoStep | None:
        """Return the next step."""
        return work_steps.next_step(self.state, self.todos, self.rules, now=self.stage.clock())

    def step(self, report: WorkerReport = DONE) -> None:
        """Do the next step; a run comes to this report, and everything else succeeds."""
        match self.next():
            case Take() as step:
                self.commit(work_results.taken(step, ()))
            case Propose() as step:
                self.commit(work_results.proposed(self.ctx, step))
            case BlockPlan() as step:
                self.commit(work_results.blocked_by_todo(self.ctx, step))
            case Continue(work=current):
                by = "claude" if current.phase in {"ready", "running"} else "prloom"
                self.commit(self._result(current, report), by=by)
            case other:
                raise AssertionError(other)

    def at(self, phase: str) -> WorkedPlan:
        """Go on until the present TODO is in this phase."""
        while self.state.work is None or self.state.work.phase != phase:
            self.step()
        return self

    def done(self, todo_id: str = "t-1") -> WorkedPlan:
        """Go on until this TODO is done."""
        while todo_id not in self.state.done_todos:
            self.step()
        return self

    def fail(self, output: str) -> WorkedPlan:
        """Have the check of the present TODO fail with this output."""
        failure = AttemptFailed(kind="check", reason=f"make test failed: {output}", feedback=output, output=output)
        self.commit(work_failures.failed(self.ctx, self.at("changed").work, failure))
        return self

    def park(self) -> WorkedPlan:
        """Have the present TODO parked, because its check fails twice in the same way."""
        return self.fail("1 failed").fail("1 failed")

    def _result(self, current: TodoWork, report: WorkerReport) -> DecisionParts:
        results: dict[str, Callable[[], DecisionParts]] = {
            "taken": lambda: work_results.prepared(current, "base"),
            "prepared": lambda: work_results.ready(current),
            "ready": lambda: work_results.started(current, run=f"run-{current.attempt}", agent="claude"),
            "running": lambda: worker_results.judge(self.ctx, current, report),
            "changed": lambda: work_results.checked(current, ("make test",)),
            "checked": lambda: work_results.approved(current, "no review is configured"),
            "reviewed": lambda: work_results.accepted(current),
            "accepted": lambda: work_results.committed(
                current, f"{current.round}{current.id.removeprefix('t-')}c0ffee"
            ),
            "committed": lambda: work_results.pushed(current, "pushed to origin"),
            "pushed": lambda: work_results.done(current, pause=False),
        }
        return results[current.phase]()
