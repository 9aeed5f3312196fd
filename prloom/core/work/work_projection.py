"""Fold what decisions say of the work on TODOs into the state that it amounts to."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from prloom.model import record
from prloom.model.decision import Decision, Thread
from prloom.model.hook_points import AFTER_FINISH, AFTER_MERGE, BEFORE_FINISH
from prloom.model.kinds import ENDED
from prloom.model.record import Json, Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo, TodoWork, WorkStep

_ANSWER_USED = frozenset({"taken", "removed", "parked", "reopened", "done", "nothing_to_do"})
_TODO_MOVED = _ANSWER_USED | {"answered", "retried"}
_ELSEWHERE = frozenset({"asked", "answered", "corrected", "retried", "hooks_run"})
"""Steps that change no more than the box in the plan, or the hooks about the whole plan that are due."""


def fields(state: DispatchState, decision: Decision, at: Timestamp) -> Mapping[str, Json]:
    """Return the fields of the state that a decision made `at` a time changes in the work on a plan, by name."""
    return {
        "todos": _todos(state, decision),
        "blocked_at": _blocked_at(state, decision, at),
        "pull_request": decision.pull_request or state.pull_request,
        **_rebase(state, decision),
        **_work(state, decision, at),
        **_questions(state, decision.work),
        **_life(state, decision, at),
        "finish_rounds": _finish_rounds(state, decision),
        **_checks(state, decision),
    }


def _todos(state: DispatchState, decision: Decision) -> Mapping[str, tuple[Thread, ...]]:
    """Return the TODOs that have not ended, each with the conversations that wait for its end."""
    given_up = None
    if decision.rebase_requested is False:
        given_up = state.rebase_todo
    over = {given_up, *decision.todos_done, *decision.todos_dropped} - {None}
    if not decision.todos and not over:
        return state.todos
    new = {todo.id: todo.threads for todo in decision.todos}
    return {key: threads for key, threads in {**state.todos, **new}.items() if key not in over}


def _blocked_at(state: DispatchState, decision: Decision, at: Timestamp) -> Mapping[str, Timestamp]:
    """Return when each TODO was blocked that still is; one that is blocked again because of a worker always was."""
    found, step = state.blocked_at, decision.work
    over = {*decision.todos_done, *decision.todos_dropped}
    if step is not None and step.box != "blocked" and (step.box is not None or step.verdict in _ANSWER_USED):
        over.add(step.todo_id)
    if not over.isdisjoint(found):
        found = {key: since for key, since in found.items() if key not in over}
    if step is None or step.box != "blocked" or (step.verdict == "corrected" and step.todo_id in found):
        return found
    return {**found, step.todo_id: at}


def _rebase(state: DispatchState, decision: Decision) -> Mapping[str, Json]:
    """Return whether a rebase is requested, and its TODO: until that is done, or taken out of the plan."""
    todo = next((todo.id for todo in decision.todos if todo.rebase), state.rebase_todo)
    if decision.rebase_requested is None:
        requested = state.rebase_requested
    else:
        requested = decision.rebase_requested
    if todo in {*decision.todos_done, *decision.todos_dropped} or not requested:
        return {"rebase_requested": False, "rebase_todo": None}
    return {"rebase_requested": requested, "rebase_todo": todo}


def _questions(state: DispatchState, step: WorkStep | None) -> Mapping[str, Json]:
    """Return the questions that wait, and the answers that the next attempts are told, after a step of the work."""
    if step is None:
        return {}
    questions, answers = state.questions, state.answers
    if step.verdict in _TODO_MOVED and step.todo_id in questions:
        questions = record.without(questions, step.todo_id)
    if step.verdict in _ANSWER_USED and step.todo_id in answers:
        answers = record.without(answers, step.todo_id)
    if step.question is not None:
        questions = {**questions, step.todo_id: step.question}
    if step.answer is not None:
        answers = {**answers, step.todo_id: step.answer}
    return {"questions": questions, "answers": answers}


def _moved(state: DispatchState, step: WorkStep) -> Mapping[str, Json]:
    """Return the TODOs that are done with their new commits, where a rebase has changed those."""
    if not step.moved:
        return {}
    done = {name: replace(each, commit=step.moved.get(name, each.commit)) for name, each in state.done_todos.items()}
    return {"done_todos": done}


def _work(state: DispatchState, decision: Decision, at: Timestamp) -> Mapping[str, Json]:
    """Return what a decision changes in the work on TODOs: the fields of the state by name."""
    block = decision.block or state.block
    if decision.unblocked or decision.plan_status in ENDED:  # nothing is left that a block could keep from being done
        block = decision.block
    changed: dict[str, Json] = {"block": block}
    step = decision.work
    if step is None or step.verdict in _ELSEWHERE:
        return changed
    changed.update(_moved(state, step))
    match step.verdict:
        case "proposed" | "granted":
            return {**changed, **_permissions(state, step, at)}
        case "reopened":
            before = state.done_todos.get(step.todo_id, DoneTodo())
            changed["reopened"] = {**state.reopened, step.todo_id: before.round + 1}
            changed["done_todos"] = record.without(state.done_todos, step.todo_id)
            return changed
        case "hooked" if step.work is None:
            return changed
        case "finished":
            return {**changed, "unfinished": False}
        case "taken":
            changed.update(_permissions(state, step, at))
        case "committed":
            changed["commits"] = state.commits + 1
        case "done" | "nothing_to_do" if step.work is None:
            changed["done_todos"] = {**state.done_todos, step.todo_id: _done(state.work, step)}
            changed["reopened"] = record.without(state.reopened, step.todo_id)
            changed["unfinished"] = True
    return {**changed, "work": _timed(step, at)}


def _done(work: TodoWork | None, step: WorkStep) -> DoneTodo:
    """Return what is remembered of a TODO that is done."""
    if work is None:
        return DoneTodo(commit=step.commit)
    return DoneTodo(round=work.round, commit=step.commit, agent=work.agent, summary=work.summary, checks=work.checks)


def _life(state: DispatchState, decision: Decision, at: Timestamp) -> Mapping[str, Json]:
    """Return which hooks about the whole plan are due and have run, and when its pull request ended."""
    due, ran, ended_at, step = list(state.hooks_due), state.plan_hooked, state.ended_at, decision.work
    over: set[str] = set()
    kept = decision.kept or state.kept
    if step is not None and step.verdict == "hooked" and step.work is None:
        ran = (*ran, f"{decision.stage}:{decision.by}")
    if step is not None and step.verdict == "finished":
        over.add(BEFORE_FINISH)
        due.append(AFTER_FINISH)
    if step is not None and step.hook is not None:
        over.add(step.hook)
        due = [each for each in due if each != step.hook]
    if decision.plan_status in ENDED and ended_at is None:
        ended_at = at
        due.append(AFTER_MERGE)
    if decision.plan_status == "active":
        ended_at = kept = None
        over.add(AFTER_MERGE)
        due = [each for each in due if each != AFTER_MERGE]
    return {
        "hooks_due": tuple(dict.fromkeys(due)),
        "plan_hooked": tuple(each for each in ran if each.partition(":")[0] not in over),
        "ended_at": ended_at,
        "kept": kept,
    }


def _finish_rounds(state: DispatchState, decision: Decision) -> int:
    """Return how often in a row the beforeFinish hooks ran in vain, which begins anew when a person ends a block."""
    step, block = decision.work, state.block
    is_lifted = decision.unblocked and block is not None and block.todo is None
    if is_lifted or (step is not None and step.verdict == "finished"):
        return 0
    return state.finish_rounds + (step is not None and step.hook == BEFORE_FINISH)


def _checks(state: DispatchState, decision: Decision) -> Mapping[str, Json]:
    """Return how many TODOs failed checks became, until a person lifts that brake; and the head that prloom pushed."""
    count, head, step = decision.ci_fixes or state.ci_fixes, state.own_head, decision.work
    if step is not None and step.verdict == "pushed" and step.work is not None:
        head = step.work.commit or head
    return {"ci_fixes": count, "own_head": head}


def _timed(step: WorkStep, at: Timestamp) -> TodoWork | None:
    """Return the work after a step, with the time at which its present attempt began."""
    if step.work is not None and step.verdict in {"taken", "started"}:
        return replace(step.work, started_at=at)
    return step.work


def _permissions(state: DispatchState, step: WorkStep, at: Timestamp) -> Mapping[str, Json]:
    """Return which TODO waits to be allowed, and which are, after a TODO was proposed, allowed or taken."""
    granted = tuple(each for each in state.granted if each != step.todo_id)
    proposed, proposed_at = state.proposed, state.proposed_at
    if proposed == step.todo_id:
        proposed = proposed_at = None
    if step.verdict == "proposed":
        proposed, proposed_at = step.todo_id, at
    if step.verdict == "granted":
        granted = (*granted, step.todo_id)
    return {"granted": granted, "proposed": proposed, "proposed_at": proposed_at}
