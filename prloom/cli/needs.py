"""List what waits for the operator in all plans, each with its age and the command that resolves it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from prloom.cli import layout, terminal

if TYPE_CHECKING:
    from prloom.engine.views.status_schema import (
        BlockStatus,
        LostPlan,
        PlanStatus,
        ProposedTodo,
        StatusDocument,
    )
    from prloom.engine.views.waiting_schema import FailedAction, HeldEvent, ParkedEvent
    from prloom.model.permission import PermissionRequest


class Need(NamedTuple):
    """One thing that waits for the operator: since when, where that is known, what it is, and what to do."""

    label: str
    text: str
    remedy: str = ""
    age_ms: int | None = None


def lines(status: StatusDocument, now: datetime) -> Iterator[str]:
    """Yield the section, the longest waiting first; nothing if nothing waits for the operator."""
    found = sorted(_of_all(status, now), key=lambda need: -1 if need.age_ms is None else -need.age_ms - 1)
    if not found:
        return
    order = ""
    if len(found) > 1:
        order = ", oldest first"
    yield ""
    yield terminal.paint(f"Needs you ({len(found)}{order})", "strong")
    for need in found:
        yield from layout.item(need.label, need.text, *filter(None, [need.remedy]))


def _of_all(status: StatusDocument, now: datetime) -> Iterator[Need]:
    yield from map(_lost, status.lost_plans or ())
    yield from (_request(each, now) for each in status.requests or ())
    for plan in status.plans:
        told = plan.block is not None and plan.block.reason == plan.last_error
        if plan.blocked and plan.last_error and not told:
            yield Need("blocked", f"{_plan(plan)}: {terminal.paint(terminal.clean(plan.last_error), 'bad')}")
        if plan.block is not None:
            yield _blocked(plan, plan.block, now)
        if plan.todos.proposed:
            yield _proposed(plan, plan.todos.proposed)
        if plan.actions.drafts:
            count = f"{plan.actions.drafts} repl{'y' if plan.actions.drafts == 1 else 'ies'}"
            yield Need("draft", f"{_plan(plan)}: {count} to send, edit or drop", f"read: {layout.to_run('outbox')}")
        if plan.status == "paused":
            remedy = f"to resume it, run {layout.to_run('resume', plan.id)}"
            yield Need("paused", f"{_plan(plan)}: only commands in comments are carried out", remedy)
        yield from (_held(plan, event) for event in plan.events.held)
        yield from (_parked(plan, event) for event in plan.events.parked)
        yield from (_failed(plan, action) for action in plan.actions.failed)


def _lost(plan: LostPlan) -> Need:
    if plan.counts is not None:
        counts = plan.counts.words()
    else:
        counts = ""
    waited = ""
    if counts:
        waited = f"; last known there: {counts}"
    forget = layout.to_run("forget", plan.id)
    if plan.recover:
        recover = f"adopt it again: `{terminal.clean(plan.recover)}`, or give it up: {forget}"
    else:
        recover = ""
    text = f"{terminal.clean(plan.id)}: {terminal.paint(terminal.clean(plan.reason), 'bad')}{waited}"
    return Need("lost", text, recover)


def _request(request: PermissionRequest, now: datetime) -> Need:
    age = max(now - request.since, timedelta())
    about = f"{terminal.clean(request.plan)}, run {terminal.clean(request.run)}, for {terminal.duration(age)}"
    shown = layout.shown_id(request.id)
    if request.question is not None:
        text = f"{shown}  {about}: {terminal.clean(request.question)}"
        remedy = f"answer where it was posted, or leave it: {layout.to_run('deny', request.id)}"
        return Need("question", text, remedy, age // timedelta(milliseconds=1))
    from prloom.core import permission  # noqa: PLC0415 - a status without such a request need not pay for it

    text = f"{shown}  {about}: {terminal.clean(request.tool)}({terminal.clean(permission.arguments_line(request))})"
    remedy = f"allow it: {layout.to_run('allow', request.id)}, deny it: {layout.to_run('deny', request.id)}"
    return Need("allow", text, remedy, age // timedelta(milliseconds=1))


def _blocked(plan: PlanStatus, block: BlockStatus, now: datetime) -> Need:
    age = max(now - block.since, timedelta())
    text = f"{_plan(plan)}, for {terminal.duration(age)}: {terminal.paint(terminal.clean(block.reason), 'bad')}"
    return Need("blocked", text, f"to go on, run `{terminal.clean(block.way_on)}`", age // timedelta(milliseconds=1))


def _proposed(plan: PlanStatus, todo: ProposedTodo) -> Need:
    text = f"{layout.shown_id(todo.id)}  {_plan(plan)}: {terminal.clean(todo.title)}"
    return Need("proposed", text, f"to have it done, run `{terminal.clean(todo.way_on)}`")


def _held(plan: PlanStatus, event: HeldEvent) -> Need:
    author = terminal.clean(event.author or "an unknown author")
    if event.reason:
        reason = f": {terminal.clean(event.reason)}"
    else:
        reason = ""
    return Need(
        "held",
        f"{layout.shown_id(event.id)}  {_plan(plan)}, by {author}, for {_age(event.age_ms)}{reason}",
        f"read it: {layout.to_run('why', event.id)}, approve it: {layout.to_run('approve', event.id)}",
        event.age_ms,
    )


def _parked(plan: PlanStatus, event: ParkedEvent) -> Need:
    if event.reason:
        reason = f": {terminal.clean(event.reason)}"
    else:
        reason = ""
    return Need(
        "parked",
        f"{layout.shown_id(event.id)}  {_plan(plan)}, for {_age(event.age_ms)}{reason}",
        f"read it: {layout.to_run('why', event.id)}, try again: {layout.to_run('retry', event.id)}",
        event.age_ms,
    )


def _failed(plan: PlanStatus, action: FailedAction) -> Need:
    # else the error names it
    if action.withheld:
        remedy = ""
    else:
        remedy = f"try again: {layout.to_run('retry', action.id)}"
    text = f"{layout.shown_id(action.id)}  {_plan(plan)}: {terminal.clean(action.error or 'no reason is known')}"
    return Need("failed", text, remedy)


def _plan(plan: PlanStatus) -> str:
    return terminal.clean(plan.id or plan.title)


def _age(milliseconds: int) -> str:
    return terminal.duration(timedelta(milliseconds=milliseconds))
