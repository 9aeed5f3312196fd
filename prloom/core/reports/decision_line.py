"""Say a decision in one line of the log: of which plan, by what, and what became of which events and actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from prloom.core.text import one_line, time_text
from prloom.model.decision import Change, Decision, DeliveryChange
from prloom.model.pull_request import KeptPullRequest
from prloom.model.work import Kept, WorkStep

LOG = "prloom.decisions"
"""The name of the logger that gets these lines."""

_IDS = 20
"""Ids of one kind that are named, and changes of one kind that are listed; of more, the rest is counted."""


@dataclass(frozen=True)
class PlanDecision:
    """A decision of a plan as the log gets it: its text is made for those who read that."""

    plan_id: str
    decision: Decision

    def __str__(self) -> str:
        return line(self.plan_id, self.decision)


def line(plan_id: str, decision: Decision) -> str:
    """Return the line; nothing in it can end it or begin another one."""
    about = "repository"
    if plan_id:
        about = f"plan {one_line.of(plan_id)}"
    summary = "; ".join(_parts(decision)) or "nothing changed"
    return f"{about}: {one_line.of(decision.stage)} by {one_line.of(decision.by)}: {summary}"


def _parts(decision: Decision) -> Iterator[str]:
    yield from _first(_changes(decision.changes))
    if decision.actions:
        yield f"queued {_names(action.id for action in decision.actions)}"
    yield from _first(_deliveries(decision.deliveries))
    yield from _first(f"added TODO {one_line.of(todo.id)}: {one_line.of(todo.title)}" for todo in decision.todos)
    if decision.todos_done:
        yield f"done TODO {_names(decision.todos_done)}"
    if decision.todos_dropped:
        yield f"TODO taken out {_names(decision.todos_dropped)}"
    yield from _of_plan(decision)
    if decision.run is not None:
        yield f"run {one_line.of(decision.run)}"
    if decision.duration_ms is not None:
        yield time_text.duration(timedelta(milliseconds=decision.duration_ms))
    if decision.note is not None:
        yield one_line.of(decision.note)


def _kept(kept: Kept) -> str:
    if kept.until is not None:
        return f"the worktree is kept until {kept.until}"
    return f"the worktree is kept: {one_line.of(kept.reason or '')}"


def _of_plan(decision: Decision) -> Iterator[str]:
    if decision.writes:
        yield f"state of {_names(dict.fromkeys(write.plugin for write in decision.writes))} written"
    if decision.plan is not None:
        yield "plan text written"
    if decision.plan_status is not None:
        yield f"plan is {one_line.of(decision.plan_status)}"
    if decision.kept is not None:
        yield _kept(decision.kept)
    if decision.paused is not None:
        yield "plan paused" if decision.paused else "plan resumed"
    if decision.rebase_requested:
        yield "rebase requested"
    yield from _of_pull_request(decision)
    if decision.work is not None:
        yield _work(decision.work)
    if decision.block is not None:
        yield f"plan blocked ({one_line.of(decision.block.reason)})"
    elif decision.unblocked:
        yield "plan unblocked"


def _pull_request(kept: KeptPullRequest) -> str:
    if kept.error is not None:
        return f"the pull request could not be kept up to date ({one_line.of(kept.error)})"
    return "the pull request is up to date"


def _of_pull_request(decision: Decision) -> Iterator[str]:
    if decision.opened is not None:
        yield f"pull request {decision.opened.number} opened"
    elif decision.pull_request is not None:
        yield _pull_request(decision.pull_request)
    if decision.ci_fixes is not None:
        yield f"{decision.ci_fixes.count} TODOs for failed checks so far"


def _work(step: WorkStep) -> str:
    if step.hook is not None:
        return f"the {one_line.of(step.hook)} hooks have run"
    if step.verdict == "finished":
        return "plan finished"
    said = f"TODO {one_line.of(step.todo_id)} {step.verdict.replace('_', ' ')}"
    if step.reason:
        return f"{said} ({one_line.of(step.reason)})"
    return said


def _changes(changes: Iterable[Change]) -> Iterator[str]:
    """Yield what became of the events, those together that went the same way."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for change in changes:
        if change.deferral is None:
            until = ""
        else:
            until = f" until {change.deferral.deferred_until}"
        if change.reason:
            reason = f" ({one_line.of(change.reason)})"
        else:
            reason = ""
        alike.setdefault((change.verdict, until, reason), []).append(change.event_id)
    for (verdict, until, reason), ids in alike.items():
        yield f"{one_line.of(verdict).replace('_', ' ')} {_names(ids)}{until}{reason}"


def _deliveries(deliveries: Iterable[DeliveryChange]) -> Iterator[str]:
    """Yield what became of the actions, those together that went the same way."""
    alike: dict[tuple[str, str], list[str]] = {}
    for delivery in deliveries:
        more = [
            f" {one_line.of(delivery.url)}" if delivery.url else "",
            f", next try {delivery.next_try}" if delivery.next_try else "",
            f" ({one_line.of(delivery.error)})" if delivery.error else "",
        ]
        alike.setdefault((delivery.state, "".join(more)), []).append(delivery.action_id)
    for (state, details), ids in alike.items():
        yield f"{state} {_names(ids)}{details}"


def _first(parts: Iterable[str]) -> Iterator[str]:
    """Yield the first of these parts, and how many more there are: each event may have a reason of its own."""
    names = tuple(parts)
    yield from names[:_IDS]
    if len(names) > _IDS:
        yield f"and {len(names) - _IDS} more"


def _names(ids: Iterable[str]) -> str:
    names: Sequence[str] = tuple(ids)
    more = ""
    if len(names) > _IDS:
        more = f" and {len(names) - _IDS} more"
    return ", ".join(map(one_line.of, names[:_IDS])) + more
