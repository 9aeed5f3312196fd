"""The work on TODOs as decisions: what comes next, and what each step comes to, folded like the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as replaced
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.answers.worker_answer import WorkAnswer, WorkerOutcome
from prloom.core.events import projection
from prloom.core.plans.plan_file import TodoItem
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_requests, work_results, work_steps, worker_results
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import (
    BlockPlan,
    Continue,
    Correct,
    Finish,
    FinishAgain,
    Propose,
    StopFinishing,
    Take,
    TodoStep,
    Unblock,
    Withdraw,
    WorkContext,
    WorkRules,
)
from prloom.core.work.worker_results import WorkerReport
from prloom.model.decision import Decision, DecisionParts
from prloom.model.record import START, Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo, NewTodo, TodoWork, WorkStep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAST = TodoItem("t-1", "Make it fast")
SMALL = TodoItem("t-2", "Make it small")
DONE = WorkAnswer(outcome="done", summary="It is fast.")
FULL = WorkAnswer(outcome="done", summary="It is fast.", commit_message="Fast", notes="n")
CTX = WorkContext("faster", WorkRules(), NOON)


class Plan:
    """A plan's TODOs and the state that decisions about them amount to; boxes follow the decisions, as in plan.md."""

    def __init__(self, *todos: TodoItem, rules: WorkRules | None = None) -> None:
        self.state = DispatchState()
        self.todos = list(todos)
        self.ctx = WorkContext("faster", rules or WorkRules(), NOON)

    def next(self, *, after: timedelta = timedelta(), may_take: bool = True) -> TodoStep | None:
        now = self.ctx.now + after
        return work_steps.next_step(self.state, self.todos, self.ctx.rules, now=now, may_take=may_take)

    def commit(self, parts: DecisionParts, by: str = "prloom", stage: str = "work") -> Plan:
        decision = Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts)
        self.state = projection.fold(
            self.state, decision, at=Timestamp.of(self.ctx.now), end=START, outbox={}, tail=START
        )
        step = decision.work
        if step is not None and step.box is not None:
            self.todos = [replace(todo, state=step.box) if todo.id == step.todo_id else todo for todo in self.todos]
        return self

    def at(self, phase: str) -> Plan:
        """Go on with the first TODO until it is in this phase."""
        while self.state.work is None or self.state.work.phase != phase:
            self.step()
        return self

    def step(self) -> None:
        """Do the next step, which succeeds."""
        step = self.next()
        match step:
            case Take():
                self.commit(work_results.taken(step, ()))
            case Continue(work=current):
                self.commit(self._succeeded(current))
            case _:
                raise AssertionError(step)

    def _succeeded(self, current: TodoWork) -> DecisionParts:
        report = WorkerReport(end="ok", answer=DONE, paths=("a.py",), tree="tree")
        results: dict[str, Callable[[], DecisionParts]] = {
            "taken": lambda: work_results.prepared(current, "base"),
            "prepared": lambda: work_results.ready(current),
            "ready": lambda: work_results.started(current, run="run", agent="claude"),
            "running": lambda: worker_results.judge(self.ctx, current, report),
            "changed": lambda: work_results.checked(current, ()),
            "checked": lambda: work_results.approved(current, ""),
            "reviewed": lambda: work_results.accepted(current),
            "accepted": lambda: work_results.committed(current, f"commit of {current.id}"),
            "committed": lambda: work_results.pushed(current, ""),
            "pushed": lambda: work_results.done(current, pause=False),
        }
        return results[current.phase]()

    @property
    def work(self) -> TodoWork:
        assert self.state.work is not None
        return self.state.work

    def run(self, report: WorkerReport) -> Plan:
        """Have a worker's run come to this."""
        return self.commit(worker_results.judge(self.ctx, self.at("running").work, report))

    def fail_check(self, output: str, tree: str = "tree") -> Plan:
        failure = AttemptFailed(kind="check", reason="the check failed", feedback=output, tree=tree, output=output)
        return self.commit(work_failures.failed(self.ctx, self.at("changed").work, failure))


def test_todos_are_done_one_after_the_other_in_their_order() -> None:
    plan = Plan(FAST, SMALL)

    while not isinstance(plan.next(), Finish):
        plan.step()

    assert [todo.state for todo in plan.todos] == ["done", "done"]
    assert {key: todo.commit for key, todo in plan.state.done_todos.items()} == {
        "t-1": "commit of t-1",
        "t-2": "commit of t-2",
    }


def test_a_plan_is_finished_once_until_another_todo_is_done() -> None:
    plan = Plan(FAST)
    while not isinstance(plan.next(), Finish):
        plan.step()

    plan.commit(work_results.finished("faster"))
    assert plan.next() is None

    plan.todos.append(SMALL)
    assert plan.next() == Take(SMALL, 1)


def test_nothing_is_begun_while_the_plan_is_paused_or_work_is_off_or_one_was_begun_in_this_tick() -> None:
    paused = Plan(FAST).commit({"paused": True})

    assert paused.next() is None
    assert Plan(FAST, rules=WorkRules(mode="off")).next() is None
    assert Plan(FAST).next(may_take=False) is None


def test_a_todo_without_an_id_is_left_alone_until_it_has_one() -> None:
    assert Plan(TodoItem(None, "Make it fast")).next() is None
    assert Plan(TodoItem(None, "Make it fast"), SMALL).next() == Take(SMALL, 1)


@pytest.mark.parametrize("phase", ["taken", "prepared", "ready"])
def test_a_pause_holds_back_a_todo_before_its_worker_runs(phase: str) -> None:
    assert Plan(FAST).at(phase).commit({"paused": True}).next() is None


@pytest.mark.parametrize("phase", ["running", "changed", "checked", "reviewed", "accepted", "committed", "pushed"])
def test_a_pause_lets_a_change_that_a_worker_has_made_be_finished(phase: str) -> None:
    plan = Plan(FAST).at(phase).commit({"paused": True})

    assert plan.next() == Continue(plan.work)


@pytest.mark.parametrize("phase", ["taken", "ready", "changed", "checked", "reviewed", "accepted"])
def test_a_block_holds_back_a_change_until_it_is_on_the_branch(phase: str) -> None:
    plan = Plan(FAST).at(phase)

    plan.commit(work_requests.blocked(plan.state, "faster", "wait for the release", Timestamp.of(NOON)))

    assert plan.next() is None
    assert plan.commit(work_results.unblocked()).next() == Continue(plan.work)


def test_a_blocked_todo_blocks_those_after_it_until_it_is_opened() -> None:
    plan = Plan(replace(FAST, state="blocked", reason="ask me"), SMALL)
    step = plan.next()
    assert isinstance(step, BlockPlan)
    plan.commit(work_results.blocked_by_todo(plan.ctx, step))
    assert plan.next() is None
    assert plan.state.block is not None
    assert plan.state.block.way_on == "prloom todo faster open t-1"
    assert plan.state.block.reason.endswith("is blocked: ask me")

    plan.todos[0] = FAST

    assert isinstance(plan.next(), Unblock)
    assert plan.commit(work_results.unblocked()).next() == Take(FAST, 1)


def test_a_blocked_todo_is_skipped_where_the_operator_says_so() -> None:
    assert Plan(replace(FAST, state="blocked"), SMALL, rules=WorkRules(skip_blocked=True)).next() == Take(SMALL, 1)


@pytest.mark.parametrize("phase", ["taken", "running", "changed", "accepted"])
def test_a_todo_that_is_taken_out_of_the_plan_is_kept_before_its_commit(phase: str) -> None:
    plan = Plan(FAST).at(phase)
    plan.todos.clear()

    step = plan.next()

    assert step == Withdraw(plan.work, "the TODO was taken out of the plan")
    assert plan.commit(work_results.removed(plan.ctx, step)).next() is None


@pytest.mark.parametrize("phase", ["taken", "prepared", "ready", "running", "changed", "accepted"])
def test_a_box_that_a_person_checks_ends_the_work(phase: str) -> None:
    plan = Plan(FAST).at(phase)
    plan.todos[0] = replace(FAST, state="done")

    assert plan.next() == Withdraw(plan.work, "the TODO was marked as done while it was worked on")


@pytest.mark.parametrize("phase", ["committed", "pushed"])
def test_a_todo_that_is_taken_out_after_its_commit_is_still_reported(phase: str) -> None:
    plan = Plan(FAST).at(phase)
    plan.todos.clear()

    assert plan.next() == Continue(plan.work)


def test_a_box_that_is_empty_again_is_checked_again_because_its_commit_is_there() -> None:
    plan = Plan(FAST, SMALL).at("taken")
    while "t-1" not in plan.state.done_todos:
        plan.step()
    plan.todos[0] = FAST

    step = plan.next()

    assert step == Correct(FAST)
    assert plan.commit(work_results.corrected(step)).next() == Take(SMALL, 1)


def test_a_todo_that_is_opened_again_is_worked_on_in_another_round() -> None:
    plan = Plan(FAST).at("pushed")
    plan.step()
    plan.todos[0] = FAST

    plan.commit(work_results.reopened("t-1"))

    assert plan.next() == Take(FAST, 2)


# ---- attempts


def test_a_failing_check_is_shown_to_the_next_attempt_which_begins_at_once() -> None:
    plan = Plan(FAST).fail_check("1 failed")

    assert plan.next() == Continue(plan.work)
    assert (plan.work.phase, plan.work.attempt, plan.work.failures, plan.work.feedback) == ("ready", 2, 1, "1 failed")


def test_a_todo_is_parked_after_its_last_attempt_and_the_block_names_the_command_that_goes_on() -> None:
    plan = Plan(FAST, SMALL).fail_check("a", "x").fail_check("b", "y").fail_check("c", "z")

    assert plan.todos[0].state == "blocked"
    assert plan.state.block is not None
    assert (
        plan.state.block.reason
        == 'the TODO "Make it fast" is blocked: the brake max_attempts = 3 is on: 3 attempts failed: the check failed'
    )
    assert plan.state.block.way_on == "prloom todo faster open t-1"
    assert plan.next() is None


@pytest.mark.parametrize(("output", "tree"), [("a", "other"), ("other", "x")])
def test_the_same_output_or_the_same_change_twice_in_a_row_parks_at_once(output: str, tree: str) -> None:
    plan = Plan(FAST).fail_check("a", "x").fail_check(output, tree)

    assert plan.state.block is not None
    assert "no progress: two attempts in a row ended alike" in plan.state.block.reason


def test_attempts_are_counted_anew_for_each_todo() -> None:
    plan = Plan(FAST, SMALL).fail_check("a", "x").fail_check("b", "y")
    while "t-1" not in plan.state.done_todos:
        plan.step()

    assert plan.at("ready").work.failures == 0


def test_a_parked_todo_that_is_opened_begins_with_its_first_attempt() -> None:
    plan = Plan(FAST).fail_check("a", "x").fail_check("a", "y")
    plan.todos[0] = FAST
    plan.commit(work_results.unblocked())

    assert plan.at("ready").work.attempt == 1


def test_with_skip_blocked_a_parked_todo_keeps_no_other_from_being_done() -> None:
    plan = Plan(FAST, SMALL, rules=WorkRules(skip_blocked=True)).fail_check("a", "x").fail_check("a", "y")

    assert plan.next() == Take(SMALL, 1)


def test_a_run_that_fails_is_tried_again_after_a_while() -> None:
    plan = Plan(FAST).run(WorkerReport(end="failed", error="overloaded"))

    assert plan.work.waits_for == "overloaded"
    assert plan.next() is None
    assert plan.next(after=timedelta(minutes=1)) == Continue(plan.work)


def test_a_violation_is_reported_to_the_worker_once_and_then_parks() -> None:
    broken = ("x is protected", "y is big")
    report = WorkerReport(end="ok", answer=DONE, paths=("x", "y"), tree="tree", violations=broken)
    plan = Plan(FAST).run(report)
    assert plan.work.feedback is not None
    assert "these rules:\n- x is protected\n- y is big\nUndo" in plan.work.feedback
    assert plan.work.feedback.endswith("and keep the rest. Leave alone what somebody else changed.")

    plan.run(replace_report(report, tree="another"))

    assert plan.state.block is not None
    assert "two attempts in a row broke the rules: x is protected; y is big" in plan.state.block.reason


def replace_report(report: WorkerReport, *, tree: str) -> WorkerReport:
    return WorkerReport(
        end=report.end, answer=report.answer, paths=report.paths, tree=tree, violations=report.violations
    )


def test_the_notes_of_a_worker_that_is_blocked_are_kept_as_well() -> None:
    answer = WorkAnswer(outcome="blocked", summary="", question="Tabs?", notes="The style is in setup.cfg.")
    plan = Plan(FAST)

    parts = worker_results.judge(plan.ctx, plan.at("running").work, WorkerReport(end="ok", answer=answer))

    assert parts["work"] is not None
    assert parts["work"].notes == "The style is in setup.cfg."


MORE = NewTodo(title="Test it", context="slowly")


def test_the_further_todos_of_an_attempt_are_those_of_the_change_that_is_committed() -> None:
    plan = Plan(FAST)
    plan.run(WorkerReport(end="ok", answer=replaced(DONE, todos=(MORE, NewTodo("Undo it"))), paths=("a.py",), tree="x"))
    plan.fail_check("no")
    assert plan.state.todos == {}

    plan.run(WorkerReport(end="ok", answer=replaced(DONE, todos=(MORE, MORE)), paths=("a.py",), tree="y"))

    parts = work_results.with_further({}, plan.work, plan.work.todos, known=())
    assert [(todo.title, todo.context) for todo in parts["todos"]] == [("Test it", "slowly")]


def test_a_title_that_an_earlier_attempt_at_the_todo_has_added_is_not_added_again() -> None:
    first, second = TodoWork(id="t-1", title="T"), TodoWork(id="t-1", title="T", attempt=3)
    longer = NewTodo(title="x" * 300, context="x" * 400)
    added = work_results.with_further({}, first, (MORE, longer), known=())["todos"]

    again = work_results.with_further({}, second, (MORE, longer), known={todo.id for todo in added})
    assert again == {}
    requested_again = replace(first, round=2)
    for work, todo in ((requested_again, MORE), (replace(first, id="t-2"), MORE), (first, NewTodo("x" * 300, "other"))):
        assert "todos" in work_results.with_further({}, work, (todo,), known={each.id for each in added})


@pytest.mark.parametrize(("outcome", "is_final"), [("nothing_to_do", True), ("blocked", True), ("done", False)])
def test_an_answer_without_a_change_is_accepted_at_once(outcome: WorkerOutcome, *, is_final: bool) -> None:
    paths = ("a.py",) if outcome == "done" else ()
    answer = WorkAnswer(outcome=outcome, summary="s")
    plan = Plan(FAST)
    parts = worker_results.judge(plan.ctx, plan.at("running").work, WorkerReport(end="ok", answer=answer, paths=paths))

    assert parts["work"] is not None
    assert worker_results.is_final(parts["work"], answer) is is_final


def test_the_answer_of_an_attempt_that_parks_the_todo_because_it_failed_is_not_accepted() -> None:
    plan = Plan(FAST, rules=WorkRules(max_attempts=1))
    report = WorkerReport(end="ok", answer=DONE)

    parts = worker_results.judge(plan.ctx, plan.at("running").work, report)

    assert parts["work"] is not None
    assert parts["work"].verdict == "parked"
    assert not worker_results.is_final(parts["work"], DONE)


def test_a_rejected_review_is_another_round_and_no_failed_attempt() -> None:
    plan = reviewed(Plan(FAST), "x")

    assert (plan.work.rejections, plan.work.failures, plan.work.phase) == (1, 0, "ready")


@pytest.mark.parametrize(("most", "how_often"), [(1, "once"), (2, "2 times")])
def test_a_todo_whose_change_the_last_of_its_reviews_rejects_is_parked(most: int, how_often: str) -> None:
    plan = reviewed(Plan(FAST, rules=WorkRules(max_review_rounds=most)), *"xyz"[:most])

    assert plan.state.block is not None
    assert plan.state.block.reason.endswith(
        f"the brake max_review_rounds = {most} is on: the reviewer rejected the change {how_often}: too slow; "
        "the worker's last message: It is fast."
    )


def reviewed(plan: Plan, *trees: str) -> Plan:
    """Have a reviewer reject one change after the other."""
    for tree in trees:
        rejected = AttemptFailed(kind="review", reason="too slow", feedback="Too slow.", tree=tree)
        plan.commit(work_failures.failed(plan.ctx, plan.at("checked").work, rejected))
    return plan


def test_a_run_that_machines_refuse_waits_and_counts_as_no_attempt_until_it_is_parked() -> None:
    plan, refused = Plan(FAST), WorkerReport(end="failed", error="run x: refused by m2: it is for r1", refused=True)
    for count in range(1, 5):
        plan.commit(worker_results.judge(plan.ctx, plan.at("running").work, refused))
        assert (plan.work.attempt, plan.work.failures, plan.work.refusals) == (1, 0, count)
        assert plan.work.waits_for == "run x: refused by m2: it is for r1"
        plan.commit({"work": work_failures.lifted(plan.work)})

    plan.commit(worker_results.judge(plan.ctx, plan.at("running").work, refused))

    assert plan.state.block is not None
    assert "refused by m2: it is for r1" in plan.state.block.reason


def test_limits_of_zero_park_no_todo() -> None:
    plan = Plan(FAST, rules=WorkRules(max_attempts=0, max_review_rounds=0))
    for number in range(10):
        for kind in ("answer", "review"):
            failure = AttemptFailed(kind=kind, reason="no", feedback="No.", output=f"{kind} {number}")
            plan.commit(work_failures.failed(plan.ctx, plan.at("checked").work, failure))

    assert (plan.work.failures, plan.work.rejections) == (10, 10)
    assert plan.state.block is None


@pytest.mark.parametrize(
    ("report", "reason", "told"),
    [
        (
            WorkerReport(end="ok"),
            "the worker's answer cannot be used: its final message has no JSON object with an `outcome`",
            "Write the answer in the form that was asked for.",
        ),
        (
            WorkerReport(end="ok", answer=InvalidAnswer("no outcome")),
            "the worker's answer cannot be used: no outcome",
            "Your answer could not be used: no outcome.",
        ),
        (
            WorkerReport(end="ok", answer=DONE),
            "the worker says that it is done, but changed nothing",
            "Make the change, or answer `nothing_to_do` or `blocked`.",
        ),
        (
            WorkerReport(end="ok", answer=WorkAnswer(outcome="nothing_to_do"), paths=("a.py", "b.py")),
            "the worker says that there is nothing to do, but changed a.py, b.py",
            "these files are changed: a.py, b.py. Answer `done` if the change is wanted, or undo it.",
        ),
        (WorkerReport(end="failed"), "the run failed", "The previous run ended early: the run failed"),
    ],
)
def test_a_run_of_no_use_is_a_failed_attempt_and_the_next_one_is_told_why(
    report: WorkerReport, reason: str, told: str
) -> None:
    plan = Plan(FAST).at("running")

    step = worker_results.judge(plan.ctx, plan.work, report)["work"]

    assert step is not None
    assert (step.verdict, step.reason) == ("failed", reason)
    assert step.work is not None
    assert told in (step.work.feedback or "")


def test_nothing_to_do_completes_the_todo_without_a_commit() -> None:
    plan = Plan(FAST).run(WorkerReport(end="ok", answer=WorkAnswer(outcome="nothing_to_do", summary="It is fast.")))
    plan.step()

    assert plan.todos[0].state == "done"
    assert plan.state.done_todos["t-1"].commit is None


def test_a_worker_that_is_blocked_parks_the_todo_with_its_question() -> None:
    answer = WorkAnswer(outcome="blocked", question="Which cache?")

    plan = Plan(FAST).run(WorkerReport(end="ok", answer=answer))

    assert plan.state.block is not None
    assert plan.state.block.reason == 'the TODO "Make it fast" is blocked: Which cache?'


# ---- waits that are no attempts


def test_a_usage_limit_is_waited_for_and_is_no_attempt() -> None:
    until = NOON + timedelta(hours=2)

    plan = Plan(FAST).run(WorkerReport(end="limited", wait=AgentWait("limit reached", until, known=True)))

    assert (plan.work.attempt, plan.work.failures, plan.work.waits_for) == (1, 0, "limit reached")
    assert plan.next(after=timedelta(hours=1)) is None
    assert plan.next(after=timedelta(hours=2)) == Continue(plan.work)


def test_what_is_nobodys_failure_is_waited_for_longer_each_time_and_parks_after_the_deadline() -> None:
    plan = Plan(FAST).at("ready")
    waits = []
    while plan.state.work is not None:
        plan.commit(work_failures.delayed(plan.ctx, plan.work, "no agent is installed"))
        if plan.state.work is not None:
            assert plan.work.retry_at is not None
            later = plan.work.retry_at
            waits.append(later - plan.ctx.now)
            plan.ctx = WorkContext(plan.ctx.plan_id, plan.ctx.rules, later)

    assert waits[:4] == [timedelta(seconds=30), timedelta(seconds=30), timedelta(minutes=1), timedelta(minutes=2)]
    assert max(waits) == timedelta(hours=1)
    assert plan.ctx.now - NOON >= timedelta(days=7)
    assert plan.todos[0].state == "blocked"


def test_a_commit_that_cannot_be_pushed_is_never_parked() -> None:
    plan = Plan(FAST).at("committed")
    plan.commit(work_failures.delayed(plan.ctx, plan.work, "no network"))
    plan.ctx = WorkContext(plan.ctx.plan_id, plan.ctx.rules, NOON + timedelta(days=30))

    plan.commit(work_failures.delayed(plan.ctx, plan.work, "no network"))

    assert plan.work.phase == "committed"


# ---- what people request


def test_where_each_todo_has_to_be_allowed_the_first_is_proposed_once_and_begun_when_it_is_granted() -> None:
    plan = Plan(FAST, SMALL, rules=WorkRules(mode="ask"))
    step = plan.next()
    assert step == Propose(FAST)
    plan.commit(work_results.proposed(plan.ctx, step))
    assert (plan.next(), plan.state.proposed) == (None, "t-1")

    plan.commit(work_requests.granted(plan.state, "t-1"))

    assert plan.next() == Take(FAST, 1)
    plan.at("ready")
    assert (plan.state.proposed, plan.state.granted) == (None, ())
    assert work_requests.granted(plan.state, "t-1") == {}

    plan.at("pushed").step()
    plan.commit(work_results.proposed(plan.ctx, Propose(SMALL)))
    assert plan.next() is None


def test_a_todo_that_is_granted_goes_before_one_that_still_waits() -> None:
    plan = Plan(FAST, SMALL, rules=WorkRules(mode="ask"))

    plan.commit(work_requests.granted(plan.state, "t-2"))

    assert plan.next() == Take(SMALL, 1)


def test_a_blocked_todo_leaves_one_before_it_that_waits_to_be_allowed() -> None:
    last = TodoItem("t-3", "Make it round")
    plan = Plan(FAST, replace(SMALL, state="blocked"), last, rules=WorkRules(mode="ask"))

    step = plan.next()
    assert step == Propose(FAST)
    plan.commit(work_results.proposed(plan.ctx, step))
    assert plan.commit(work_requests.granted(plan.state, "t-3")).next() is None

    assert plan.commit(work_requests.granted(plan.state, "t-1")).next() == Take(FAST, 1)


@pytest.mark.parametrize(("mode", "then"), [("auto", Take(FAST, 1)), ("ask", Propose(FAST))])
def test_a_todo_that_is_put_before_the_one_that_blocks_the_plan_goes_on(
    mode: work_steps.WorkMode, then: TodoStep
) -> None:
    plan = Plan(replace(SMALL, state="blocked"), rules=WorkRules(mode=mode))
    block = plan.next()
    assert isinstance(block, BlockPlan)
    plan.commit(work_results.blocked_by_todo(plan.ctx, block))

    plan.todos.insert(0, FAST)
    assert plan.next() == Unblock(plan.state.block)
    assert plan.commit(work_results.unblocked()).next() == then


def with_todo_of_hook(plan: Plan, number: int) -> Plan:
    """Do the open TODOs, and have a beforeFinish hook add one."""
    while plan.next() != Finish():
        plan.step()
    plan.todos.append(TodoItem(f"t-{number}", "Fix the lint"))
    return plan.commit({"work": WorkStep(todo_id="faster", verdict="hooked")}, by="lint", stage="beforeFinish")


def test_before_finish_hooks_run_again_when_the_todo_that_one_added_is_done() -> None:
    plan = with_todo_of_hook(Plan(FAST), 2)

    again = plan.next()
    assert again == FinishAgain()
    assert plan.commit(work_results.noted(plan.ctx, again)).next() == Take(plan.todos[1], 1)
    plan.at("pushed").step()
    assert (plan.next(), plan.state.plan_hooked) == (Finish(), ())


@pytest.mark.parametrize("most", [1, 5])
def test_hooks_that_add_a_todo_each_time_block_the_plan_and_a_person_lifts_that(most: int) -> None:
    plan = Plan(FAST, rules=WorkRules(max_finish_rounds=most))
    for number in range(2, most + 2):
        with_todo_of_hook(plan, number).commit(work_results.noted(plan.ctx, FinishAgain())).at("pushed").step()

    assert plan.next() == StopFinishing()
    plan.commit(work_results.noted(plan.ctx, StopFinishing()))
    assert plan.state.block is not None
    assert plan.state.block.reason == (
        f"the brake max_finish_rounds = {most} is on: the beforeFinish hooks still add TODOs, although those of "
        "earlier runs are done; `prloom resume faster` lifts it"
    )
    assert plan.next() is None
    assert plan.commit(work_requests.resumed(plan.state)).next() == Finish()


def test_hooks_may_add_todos_without_end_where_the_limit_is_zero() -> None:
    plan = Plan(FAST, rules=WorkRules(max_finish_rounds=0))
    for number in range(2, 9):
        with_todo_of_hook(plan, number).commit(work_results.noted(plan.ctx, FinishAgain())).at("pushed").step()

    assert plan.next() == Finish()


def test_a_plan_that_is_paused_keeps_its_block_while_the_todo_of_that_is_blocked() -> None:
    plan = Plan(replace(SMALL, state="blocked"))
    block = plan.next()
    assert isinstance(block, BlockPlan)
    plan.commit({**work_results.blocked_by_todo(plan.ctx, block), "paused": True})

    plan.todos.insert(0, FAST)
    assert plan.next() is None

    plan.todos[1] = SMALL
    assert plan.next() == Unblock(plan.state.block)


def test_to_resume_a_plan_opens_the_todo_that_blocks_it_with_all_its_attempts() -> None:
    plan = Plan(FAST).fail_check("a", "x").fail_check("a", "y").commit({"paused": True})

    plan.commit(work_requests.resumed(plan.state))

    assert (plan.state.block, plan.state.paused) == (None, False)
    assert plan.next() == Take(FAST, 1)


def test_to_resume_a_plan_that_is_neither_paused_nor_blocked_changes_nothing() -> None:
    assert work_requests.resumed(Plan(FAST).state) == {}


@pytest.mark.parametrize("phase", ["prepared", "reviewed", "committed"])
@pytest.mark.parametrize("cause", ["hook", "branch"])
def test_a_block_stops_the_work_in_whatever_phase_it_came_and_goes_on_there(
    phase: str, cause: work_results.BlockCause
) -> None:
    plan = Plan(FAST).at(phase)
    plan.commit(work_results.blocked(plan.ctx, "the hook failed", way_on="prloom resume faster", cause=cause))

    assert plan.next() is None
    assert plan.commit(work_requests.resumed(plan.state)).next() == Continue(plan.work)


def test_a_parked_todo_that_is_opened_is_no_other_round_and_one_that_was_done_is() -> None:
    parked = Plan(FAST).fail_check("a", "x").fail_check("a", "y")
    done = Plan(FAST).at("pushed")
    done.step()

    for plan in (parked, done):
        plan.commit(work_requests.opened(plan.state, "t-1"))

    assert (parked.next(), done.next()) == (Take(FAST, 1), Take(FAST, 2))


def test_the_state_knows_when_the_present_attempt_began_and_how_many_commits_there_are() -> None:
    plan = Plan(FAST, SMALL).at("taken")
    assert plan.work.started_at == plan.at("running").work.started_at == NOON
    plan.ctx = WorkContext("faster", plan.ctx.rules, NOON + timedelta(minutes=5))

    plan.fail_check("a", "x").at("running")

    assert (plan.work.started_at, plan.state.commits) == (NOON + timedelta(minutes=5), 0)
    plan.ctx = WorkContext("faster", plan.ctx.rules, NOON + timedelta(minutes=9))
    assert plan.at("pushed").state.commits == 1
    assert plan.work.started_at == NOON + timedelta(minutes=5)


def test_a_rebase_changes_the_commits_of_those_todos_that_it_moved_and_of_no_other() -> None:
    plan = Plan(FAST).at("committed")
    plan.state = replace(plan.state, done_todos={"a": DoneTodo(round=2, commit="old"), "b": DoneTodo(commit="kept")})

    plan.commit(work_results.with_moved(work_results.pushed(plan.work, ""), plan.state.done_todos, {"a": "new"}))

    assert plan.state.done_todos == {"a": DoneTodo(round=2, commit="new"), "b": DoneTodo(commit="kept")}


RUNNING = TodoWork(id="t-1", title="x", phase="running", session="s-1")
GOOD = "the change and the answer are good, although the program failed: exit 1"
NOT_SIGNED_IN = AgentWait("no", NOON + timedelta(hours=1), known=False)
ENOUGH = WorkAnswer(outcome="nothing_to_do", summary="It is fast.", notes="n")


@pytest.mark.parametrize(
    ("report", "parts"),
    [
        (
            WorkerReport(end="failed", error="exit 1", answer=FULL, paths=("a",), tree="t", session="s-2"),
            work_results.changed(
                replace(RUNNING, session="s-2"), tree="t", summary="It is fast.", message="Fast", notes="n", remark=GOOD
            ),
        ),
        (WorkerReport(end="ok", answer=ENOUGH), work_results.nothing_to_do(RUNNING, "It is fast.", "n")),
        (WorkerReport(end="interrupted", error="killed"), work_failures.cut_short(RUNNING, "killed")),
        (WorkerReport(end="unusable", wait=NOT_SIGNED_IN), work_failures.limited(CTX, RUNNING, NOT_SIGNED_IN)),
    ],
)
def test_a_run_comes_to_all_that_its_answer_or_its_end_says(report: WorkerReport, parts: DecisionParts) -> None:
    assert worker_results.judge(CTX, RUNNING, report) == {**parts, "note": None}


LOST = WorkerReport(end="interrupted", error="killed", lost=True)


def test_runs_in_a_row_that_kill_their_processes_count_as_failed_attempts_from_the_second_on_and_wait() -> None:
    plan = Plan(FAST).run(LOST)
    assert (plan.work.attempt, plan.work.failures, plan.work.retry_at) == (1, 0, None)

    for failures in (1, 2):
        plan.run(LOST)
        assert (plan.work.attempt, plan.work.failures) == (failures + 1, failures)
        assert plan.work.retry_at is not None
        plan.commit({"work": work_failures.lifted(plan.work)})

    plan.run(LOST)
    assert plan.state.block is not None
    assert plan.state.block.reason.endswith("the brake max_attempts = 3 is on: 3 attempts failed: killed")


@pytest.mark.parametrize(
    "between",
    [(WorkerReport(end="failed", error="exit 1"),), (WorkerReport(end="interrupted", error="prloom stopped"),) * 3],
)
def test_runs_that_end_otherwise_or_with_prloom_are_no_lost_ones(between: tuple[WorkerReport, ...]) -> None:
    plan = Plan(FAST)
    for report in (*between, LOST):
        plan.run(report)
        if plan.work.retry_at is not None:
            plan.commit({"work": work_failures.lifted(plan.work)})

    failed = sum(report.end == "failed" for report in between)
    assert (plan.work.losses, plan.work.failures) == (1, failed)


def unusable(said: str) -> WorkerReport:
    return WorkerReport(end="ok", answer=InvalidAnswer("`outcome` must be one of done"), said=said, paths=("a",))


@pytest.mark.parametrize(
    "report",
    [
        unusable('{"outcome": "perhaps"}'),
        WorkerReport(end="ok", said="I am sorry."),
        WorkerReport(end="ok", answer=DONE),
        WorkerReport(end="ok", answer=WorkAnswer(outcome="nothing_to_do"), paths=("a",), tree="t"),
    ],
)
def test_the_same_unusable_answer_twice_in_a_row_parks_the_todo(report: WorkerReport) -> None:
    plan = Plan(FAST).run(report)
    assert plan.state.block is None

    plan.run(report)

    assert plan.state.block is not None
    assert "no progress: two attempts in a row ended alike" in plan.state.block.reason


def test_two_unusable_answers_that_differ_leave_the_todo_another_attempt() -> None:
    plan = Plan(FAST).run(unusable('{"outcome": "perhaps"}')).run(unusable('{"outcome": "maybe"}'))

    assert (plan.work.attempt, plan.state.block) == (3, None)
