"""Hold what history is made of: the steps that the decision log records, and the actions that they caused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from prloom.engine.bus.replay import ReplayStep
from prloom.model.decision import Deferral, DeliveryChange
from prloom.model.record import Record, Timestamp
from prloom.model.work import WorkStep
from prloom.storage import json_codec


class ActionNow(NamedTuple):
    """An action in its present state: queued, retrying, delivered or failed."""

    id: str
    state: str = "queued"
    url: str | None = None


class HistoryStep(NamedTuple):
    """One thing that a decision did to an event or a TODO; its actions in their present states.

    A delivery has `attempts`, and its action as it stood then. A step of the work has the `todo` that it is about, and
    the `attempt` and the `commit` as far as there are any; that of a failed check has the end of its `output`.
    """

    ts: Timestamp
    stage: str
    by: str
    verdict: str
    reason: str | None = None
    duration_ms: int | None = None
    actions: tuple[ActionNow, ...] = ()
    deferral: Deferral | None = None
    run: str | None = None
    attempts: int | None = None
    next_try: Timestamp | None = None
    todo: str | None = None
    attempt: int | None = None
    commit: str | None = None
    output: str | None = None


class CausedTodo(Record, frozen=True, kw_only=True):
    """A TODO that an event caused: what became of it by now, and its commit; `prloom why` with its id has the rest."""

    id: str
    title: str
    state: str = "open"
    commit: str | None = None


_ENDS = {"done": "done", "nothing_to_do": "done", "parked": "blocked", "removed": "removed"}
"""What a TODO is after a step of the work; after any other, it is open."""


def follow_todos(todos: dict[str, CausedTodo], said: ReplayStep) -> None:
    """Bring TODOs up to what a decision did to them."""
    decision, work = said.decision, said.decision.work
    if work is not None and work.todo_id in todos:
        todo = todos[work.todo_id]
        commit = worked(said, work).commit or todo.commit
        todos[todo.id] = replace(todo, state=_ENDS.get(work.verdict, "open"), commit=commit)
    for ended, state in ((decision.todos_done, "done"), (decision.todos_dropped, "removed")):
        todos.update((todo_id, replace(todos[todo_id], state=state)) for todo_id in ended if todo_id in todos)


def happened(said: ReplayStep, verdict: str) -> HistoryStep:
    """Return a step of this verdict, made when and by what the decision says."""
    decision = said.decision
    return HistoryStep(said.made_at, decision.stage, decision.by, verdict, duration_ms=decision.duration_ms)


def worked(said: ReplayStep, step: WorkStep) -> HistoryStep:
    """Return a step of the work on a TODO."""
    commit = step.commit
    attempt: int | None = None
    next_try: Timestamp | None = None
    if step.work is not None:
        commit, attempt, next_try = step.work.commit, step.work.attempt, step.work.retry_at
        if step.verdict in {"failed", "violated", "rejected"}:  # the work is that of the next attempt by then
            attempt = step.work.attempt - 1
    reason = step.reason
    if reason == commit:
        reason = None
    if said.decision.stage == "work" and said.decision.note:  # in an operator's, it is the id of the request
        reason = "; ".join(filter(None, (reason, said.decision.note)))
    return happened(said, step.verdict)._replace(
        reason=reason,
        run=said.decision.run,
        next_try=next_try,
        todo=step.todo_id,
        attempt=attempt,
        commit=commit,
        output=step.output,
    )


@dataclass
class Mentions:
    """The texts by which a line of the log is known to be about something, and the actions that this caused so far."""

    marks: list[bytes] = field(default_factory=list)
    actions: dict[str, ActionNow] = field(default_factory=dict)

    def watch(self, name: str) -> None:
        """Have lines wanted that mention this id, too."""
        self.marks.append(json_codec.encode(name))

    def is_in(self, line: bytes) -> bool:
        """Whether a line mentions any of the ids."""
        return any(mark in line for mark in self.marks)

    def queue(self, action_ids: Iterable[str]) -> tuple[ActionNow, ...]:
        """Follow these actions from now on; return them as they are when they are queued."""
        queued = tuple(ActionNow(action_id) for action_id in action_ids)
        for action in queued:
            self.actions[action.id] = action
            self.watch(action.id)
        return queued

    def deliveries(self, said: ReplayStep) -> list[HistoryStep]:
        """Return what a decision says of the deliveries of these actions."""
        return [self._delivered(each, said) for each in said.decision.deliveries if each.action_id in self.actions]

    def with_actions_now(self, steps: Iterable[HistoryStep]) -> tuple[HistoryStep, ...]:
        """Return the steps; their actions show what became of them by now where they were queued."""
        return tuple(
            each
            if each.attempts is not None
            else each._replace(actions=tuple(self.actions[action.id] for action in each.actions))
            for each in steps
        )

    def _delivered(self, delivery: DeliveryChange, said: ReplayStep) -> HistoryStep:
        before = self.actions[delivery.action_id]
        now = ActionNow(delivery.action_id, delivery.state, delivery.url or before.url)
        self.actions[delivery.action_id] = now
        return happened(said, delivery.state)._replace(
            reason=delivery.error, actions=(now,), attempts=delivery.attempts, next_try=delivery.next_try
        )
