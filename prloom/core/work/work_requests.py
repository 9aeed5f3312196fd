"""Decide what people's requests about the work come to: to resume a plan, to allow a TODO, to request one again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from prloom.core.delivery import reply_limit
from prloom.core.waits import agent_wait, brakes
from prloom.core.work import automatic_todos, brake_notices, work_failures, work_results
from prloom.model.decision import Change, DecisionParts
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import Block, TodoWork, WorkStep

_DAILY = tuple(f"{brake_notices.NAMED}{limit} " for limit in brakes.DAILY)
_IS_ON = " is on"
_CHANGED = "the daily limit that it waited for was changed"


def resumed(state: DispatchState, ended: Collection[str] = ()) -> DecisionParts:
    """Return the end of a plan's pause, of its block, of the wait of its TODO and of brakes on its events and replies.

    A TODO that blocks the plan is open again, with all its attempts, unless it is one of those that a person has
    `ended`. What else blocks it is looked at again: if it is still there, it blocks the plan again.
    """
    parts = unblocked(state, ended)
    waiting = state.work
    if not parts and waiting is not None and waiting.retry_at is not None:
        parts["work"] = work_failures.lifted(waiting)
    parts.update(automatic_todos.lifted(state))  # also where something else blocks the plan, or nothing does
    if state.paused:
        parts["paused"] = False
    retried = (*_braked(state), *(_retried(event, "a person ended the wait") for event in agent_wait.waiting(state)))
    if retried:
        parts["changes"] = (*parts.get("changes", ()), *retried)
    deliveries = reply_limit.lifted(state.queue.values())
    if deliveries:
        parts["deliveries"] = deliveries
    return parts


def _braked(state: DispatchState) -> tuple[Change, ...]:
    """Return that the events are looked at again which wait because no run may be started for them today."""
    return tuple(
        _retried(event, "a person lifted the brake")
        for event in state.open.values()
        if event.state == "deferred" and (event.reason or "").startswith(brake_notices.NAMED)
    )


def _retried(event: OpenEvent, why: str) -> Change:
    return Change(event_id=event.id, verdict="retried", state="pending", reason=why)


def agents_retried(state: DispatchState, agents: Collection[str]) -> DecisionParts:
    """Return that what waits for these agent programs has them tried at once, because a person requested that."""
    return _without_agent_waits(state, agents, "a retry of the agent was requested", work_failures.tried)


def agents_usable(state: DispatchState, agents: Collection[str]) -> DecisionParts:
    """Return that what waits for these agent programs goes on, because a run has shown that they can be used."""
    return _without_agent_waits(state, agents, "the agent can be used again", work_failures.limit_changed)


def agents_changed(state: DispatchState, chosen: Collection[str]) -> DecisionParts:
    """Return that what waits for a program goes on where the dispatcher that starts may find otherwise.

    It waits because the program was missing or its settings were wrong, or for one that no stage uses any more:
    `chosen` are those in use. What is still so, makes it wait again.
    """
    waiting = [event.deferral.agent for event in agent_wait.waiting(state) if event.deferral]
    if state.work is not None:
        waiting.append(state.work.unusable)
    agents = {
        each.agent for each in waiting if each and (each.cause in ("start", "identity") or each.agent not in chosen)
    }
    if not agents:
        return {}
    return _without_agent_waits(state, agents, "the dispatcher was started again", work_failures.limit_changed)


def _without_agent_waits(
    state: DispatchState, agents: Collection[str], why: str, ended: Callable[[TodoWork, str], WorkStep]
) -> DecisionParts:
    parts: DecisionParts = {}
    work = state.work
    if work is not None and work.retry_at is not None and agent_wait.is_one_of(work.unusable, agents):
        parts["work"] = ended(work, why)
    changes = tuple(_retried(event, why) for event in agent_wait.waiting(state, agents))
    if changes:
        parts["changes"] = changes
    return parts


def waits_for_daily_limit(state: DispatchState) -> bool:
    """Whether the TODO that is worked on, or an event, waits because no run may be started today."""
    return bool(limits_changed(state, None))


def limits_changed(state: DispatchState, brake: str | None) -> DecisionParts:
    """Return that what waits for a daily limit is tried again, unless that is the `brake` that is on now.

    A setting of `[limits]` was changed; what is tried meets the limit that it has now.
    """
    parts: DecisionParts = {}
    work = state.work
    if work is not None and work.limited and _is_other_brake(work.waits_for, brake):
        parts["work"] = work_failures.limit_changed(work, _CHANGED)
    waiting = (event for event in state.open.values() if event.state == "deferred")
    changes = tuple(_retried(event, _CHANGED) for event in waiting if _is_other_brake(event.reason, brake))
    if changes:
        parts["changes"] = changes
    return parts


def _is_other_brake(reason: str | None, brake: str | None) -> bool:
    """Whether a wait is for a daily limit, and not for the one that this brake names."""
    if reason is None or not reason.startswith(_DAILY):
        return False
    return brake is None or reason.partition(_IS_ON)[0] != brake.partition(_IS_ON)[0]


def blocked(state: DispatchState, plan_id: str, reason: str | None, now: datetime) -> DecisionParts:
    """Return the block of a plan by the operator, in place of any other; nothing where it is blocked so already."""
    why = reason or "blocked by the operator"
    if state.block is not None and (state.block.cause, state.block.reason) == ("operator", why):
        return {}
    return {"block": Block(reason=why, since=Timestamp.of(now), way_on=f"prloom unblock {plan_id}")}


def unblocked(state: DispatchState, ended: Collection[str] = ()) -> DecisionParts:
    """Return the end of a plan's block, as `resumed` does; nothing where it has none."""
    parts: DecisionParts = {}
    if state.block is not None:
        parts["unblocked"] = True
        if state.block.todo is not None and state.block.todo not in ended:
            parts["work"] = _tried_anew(state.block.todo)
        if state.block.cause == "limit":
            parts.update(automatic_todos.lifted(state))
    return parts


def rebase_requested(state: DispatchState, plan_id: str, cause: str) -> DecisionParts:
    """Return the TODO for a rebase that a person requested; nothing where the plan has one that is not done.

    Its id is derived from the plan and from `cause`, the id of the request or of the comment.
    """
    if state.rebase_todo is not None:
        return {}
    return {"todos": (automatic_todos.rebase_todo(f"{plan_id}/{cause}"),), "rebase_requested": True}


def granted(state: DispatchState, todo_id: str) -> DecisionParts:
    """Return that a TODO may begin; nothing where it may already, or has begun."""
    if todo_id in state.granted or (state.work is not None and state.work.id == todo_id):
        return {}
    return {"work": WorkStep(todo_id=todo_id, verdict="granted", reason="it was allowed")}


def may_open(state: DispatchState, todo_id: str) -> bool:
    """Whether a request to open this TODO can change something although its box is empty."""
    blocks = state.block is not None and state.block.todo == todo_id
    begun = state.work is not None and state.work.id == todo_id
    return blocks or begun or todo_id in state.done_todos


def opened(state: DispatchState, todo_id: str) -> DecisionParts:
    """Return that a TODO is open again: one that prloom did is requested once more, any other is tried anew."""
    if todo_id in state.done_todos:
        return work_results.reopened(todo_id)
    if state.work is not None and state.work.id == todo_id:
        if state.work.retry_at is None:
            return {}
        return {"work": work_failures.lifted(state.work)}
    parts: DecisionParts = {"work": _tried_anew(todo_id)}
    if state.block is not None and state.block.todo == todo_id:
        parts["unblocked"] = True
    return parts


def _tried_anew(todo_id: str) -> WorkStep:
    return WorkStep(todo_id=todo_id, verdict="retried", reason="a retry was requested", box="open")
