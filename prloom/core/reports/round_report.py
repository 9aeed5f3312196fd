"""Say what happens in a round while it happens, for the person who started it: one line for each thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prloom.core.text import one_line
from prloom.model.action import Action
from prloom.model.decision import Change, Decision, DeliveryChange
from prloom.model.work import TodoWork, WorkStep, WorkVerdict

_POSTED: Mapping[str, str] = {
    "comment": "replied",
    "inline comment": "commented on a line",
    "review": "reviewed",
    "react": "reacted",
    "resolve thread": "resolved a conversation",
    "merge": "merged the pull request",
}
"""What was done when an action of this payload was delivered; all others are named by their type."""

_SHORT = 10


class RoundReport:
    """Turns decisions, in their order, into lines for people; remembers the TODOs and actions that they name."""

    def __init__(self) -> None:
        self._works: dict[tuple[str, str], TodoWork] = {}
        self._actions: dict[str, Action] = {}

    def lines(self, plan_id: str, decision: Decision) -> Iterator[str]:
        """Yield what a person wants to know of a decision as it is made; nothing for most of them."""
        where = one_line.of(plan_id) or "repository"
        self._actions.update({action.id: action for action in decision.actions})
        for said in self._said(plan_id, decision):
            yield f"{where}: {said}"

    def _said(self, plan_id: str, decision: Decision) -> Iterator[str]:
        yield from _of_events(decision)
        yield from (f"new TODO {_quoted(todo.title)}" for todo in decision.todos)
        if decision.work is not None:
            yield from self._step(plan_id, decision.work)
        if decision.opened is not None:
            yield f"opened pull request {decision.opened.number}"
        yield from filter(None, map(self._delivery, decision.deliveries))
        if decision.block is not None and decision.work is None:
            yield f"blocked: {one_line.of(decision.block.reason)}"

    def _step(self, plan_id: str, step: WorkStep) -> Iterator[str]:
        if step.hook is not None:
            return
        if step.work is not None:
            self._works[plan_id, step.todo_id] = step.work
        work = self._works.get((plan_id, step.todo_id))
        said = _of_step(step, work)
        if said is not None:
            title = _quoted(work.title) if work is not None else one_line.of(step.todo_id)
            yield f"{title}: {said}"

    def _delivery(self, change: DeliveryChange) -> str | None:
        action = self._actions.get(change.action_id)
        kind = "action" if action is None else action.kind.replace("_", " ")
        match change.state:
            case "delivered":
                done = _POSTED.get(kind) or f"sent {kind}"
                return f"{done}: {one_line.of(change.url)}" if change.url else done
            case "failed" | "retrying":
                return f"could not send {kind}: {one_line.of(change.error or '')}"
            case _:
                return None


def _of_events(decision: Decision) -> Iterator[str]:
    """Yield what becomes of comments, those together that go the same way."""
    started = sum(change.verdict == "started" for change in decision.changes)
    if started:
        yield f"{one_line.of(decision.by)} reads {_counted(started)}"
    alike: dict[str, int] = {}
    for change in decision.changes:
        said = _of_event(change)
        if said is not None:
            alike[said] = alike.get(said, 0) + 1
    for said, count in alike.items():
        yield f"{_counted(count)} {said}"


def _of_event(change: Change) -> str | None:
    reason = f": {one_line.of(change.reason)}" if change.reason else ""
    match change.state:
        case "deferred" if change.deferral is not None:
            return f"put off until {change.deferral.deferred_until}{reason}"
        case "held":
            return f"held{reason}"
        case "parked":
            return f"parked{reason}"
        case _:
            return None


_STEPS: Mapping[WorkVerdict, str] = {
    "started": "{agent} works on it, attempt {attempt}",
    "changed": "changed the code",
    "checked": "{reason}",
    "approved": "{reason}",
    "committed": "commit {commit}",
    "pushed": "pushed",
    "done": "done",
    "nothing_to_do": "there is nothing to do: {reason}",
    "failed": "attempt failed: {reason}",
    "violated": "attempt failed: {reason}",
    "rejected": "attempt failed: {reason}",
    "cut_short": "attempt failed: {reason}",
    "parked": "parked: {reason}",
    "limited": "waits: {reason}",
    "delayed": "waits: {reason}",
}
"""What a step of the work on a TODO came to; the others only prepare another one."""


def _of_step(step: WorkStep, work: TodoWork | None) -> str | None:
    """Return what a step of the work on a TODO came to, in words, or None."""
    said = _STEPS.get(step.verdict)
    if said is None:
        return None
    agent, attempt, commit = "an agent", 1, ""
    if work is not None:
        agent, attempt, commit = work.agent or agent, work.attempt, (work.commit or "")[:_SHORT]
    return said.format(agent=agent, attempt=attempt, commit=commit, reason=one_line.of(step.reason or ""))


def _quoted(title: str) -> str:
    return f'"{one_line.of(title)}"'


def _counted(number: int) -> str:
    return "1 event" if number == 1 else f"{number} events"
