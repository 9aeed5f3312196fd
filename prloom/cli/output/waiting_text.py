"""Show to a person what waits in all plans together and in each of them: how much, why and how long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from prloom.cli.output import layout, terminal, work_text

if TYPE_CHECKING:
    from prloom.engine.views.status_schema import PlanStatus, StatusDocument
    from prloom.engine.views.waiting_schema import DeferredEvent


def totals(status: StatusDocument) -> str:
    """Return in one line what waits in all plans together."""
    totals = status.totals
    if not status.plans and status.lost_plans:
        count = len(status.lost_plans)
        return f"No plan can be worked on: {count} {'plan is' if count == 1 else 'plans are'} lost."
    if not status.plans:
        from prloom.engine.views.dashboard_words import NO_PLANS  # noqa: PLC0415 - only an empty repository needs it

        return f"{NO_PLANS[0].upper()}{NO_PLANS[1:]}."
    plans = f"{totals.plans} {'plan' if totals.plans == 1 else 'plans'}"
    waits = _waits(
        deferred=totals.deferred,
        oldest_ms=status.oldest_deferred_age_ms,
        held=totals.held,
        parked=totals.parked,
        failed=totals.actions_failed,
        drafts=sum(plan.actions.drafts or 0 for plan in status.plans),
    )
    working = [(totals.pending, "pending"), (totals.actions_queued, _actions(totals.actions_queued, "queued"))]
    moving = [f"{count} {name}" for count, name in working if count]
    return f"{plans}: {', '.join([*moving, *work_text.totals(status.plans), *waits]) or 'nothing waits'}."


def _waits(*, deferred: int, oldest_ms: int | None, held: int, parked: int, failed: int, drafts: int) -> list[str]:
    """Return the counts of what waits for something, each with its name; `drafts` are those of replies."""
    found = []
    if deferred:
        found.append(terminal.paint(f"{deferred} deferred", "warn"))
        if oldest_ms is not None:
            found[0] += f" (the oldest for {terminal.age(oldest_ms, units=2)})"
    if held:
        found.append(terminal.paint(f"{held} held", "warn"))
    if parked:
        found.append(terminal.paint(f"{parked} parked", "bad"))
    if failed:
        found.append(terminal.paint(f"{failed} {_actions(failed, 'failed')}", "bad"))
    if drafts:
        found.append(terminal.paint(f"{drafts} {'reply' if drafts == 1 else 'replies'} to send", "warn"))
    return found


def counts(plan: PlanStatus) -> str:
    """Return in one line how much of a plan waits, goes on and is done."""
    events, actions = plan.events, plan.actions
    waits = _waits(
        deferred=len(events.deferred),
        oldest_ms=max((event.age_ms for event in events.deferred), default=None),
        held=len(events.held),
        parked=len(events.parked),
        failed=len(actions.failed),
        drafts=actions.drafts or 0,
    )
    moving = [(events.pending, "pending"), (actions.queued, _actions(actions.queued, "queued"))]
    done = [
        (events.handled, "handled"),
        (events.triaged, "triaged"),
        (events.dropped, "dropped"),
        (events.superseded, "superseded"),
        (actions.delivered, _actions(actions.delivered, "delivered")),
    ]
    now = [*(f"{count} {name}" for count, name in moving if count), *waits]
    parts = [", ".join([*now, *work_text.totals([plan])]) or "nothing waits"]
    parts.append(", ".join(f"{count} {name}" for count, name in done if count))
    if plan.todos.total:
        parts.append(f"TODOs {plan.todos.done}/{plan.todos.total}")
    if plan.commits:
        parts.append(f"{plan.commits} {'commit' if plan.commits == 1 else 'commits'}")
    if plan.rebase_requested:
        parts.append(terminal.paint("a rebase is requested", "warn"))
    return "; ".join(part for part in parts if part)


def lines(plan: PlanStatus, now: datetime) -> Iterator[str]:
    """Yield what waits in a plan: its deferred events, and the actions that a brake holds back."""
    for event in plan.events.deferred:
        yield from _deferred(event, now)
    for action in plan.actions.waiting or ():
        text = f"{layout.shown_id(action.id)}: {terminal.clean(action.reason)}"
        yield from layout.item("waiting", text, f"until {layout.clock(action.until)} at the latest")


def _deferred(event: DeferredEvent, now: datetime) -> Iterator[str]:
    plugin_name = terminal.paint(terminal.clean(event.plugin), "name")
    age = terminal.age(event.age_ms, units=2)
    when = layout.when(event.deferred_until, now)
    if event.wake_on:
        from prloom.core.waits import wake  # noqa: PLC0415 - few events wait for something

        when_next = f"waits for {wake.described(event.wake_on)}"
        if event.deferred_until < event.deadline:
            when_next += f"; next try {when}"
    elif when.startswith("in "):
        when_next = f"next try {when}"
    else:
        when_next = f"due {when}"
    yield from layout.item(
        "deferred",
        f"{layout.shown_id(event.id)}  {terminal.clean(event.type)}, by {plugin_name}: {terminal.clean(event.reason)}",
        f"{when_next}; attempts so far: {event.attempts}; "
        f"waiting for {age}, until {layout.clock(event.deadline)} at the latest",
    )


def _actions(count: int, state: str) -> str:
    return f"{'action' if count == 1 else 'actions'} {state}"
