"""Make TODOs of what needs no agent to be understood: checks that failed, and conflicts with the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from prloom.core.plans import todo_ids
from prloom.core.text.naming import printable
from prloom.core.work.work_steps import WorkContext
from prloom.model.decision import Change, DecisionParts, Thread, Todo
from prloom.model.event import Event
from prloom.model.kinds import ENDED
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import Block, CiFixes

CHECK, CONFLICT = "check_failed", "merge_conflict"

BRAKE: Final = "the brake max_ci_fixes"
"""What the reason of an event begins with that waits because of it."""

_OWNER = "prloom/automatic"
_REBASE_OWNER = "triage/rebase"


def settle(ctx: WorkContext, plan: Plan, state: DispatchState, events: Sequence[Event]) -> DecisionParts:
    """Return what becomes of failed checks, and of conflicts where rebases are automatic; nothing where there are none.

    All checks that failed on one head become one TODO. Where the pull request is merged or closed, nothing does.
    """
    if plan.status in ENDED:
        reason = f"the pull request is {plan.status}"
        over = tuple(event.id for event in events if event.type in {CHECK, CONFLICT})
        changes = tuple(Change(event_id=each, verdict="handled", state="handled", reason=reason) for each in over)
        if changes:
            return {"changes": changes}
        return {}
    failed = [event for event in events if event.type == CHECK]
    if failed:
        head = _head(failed[0])
        return _checks(ctx, state, [event for event in failed if _head(event) == head], head)
    conflicts = tuple(event.id for event in events if event.type == CONFLICT)
    if conflicts and ctx.rules.rebase == "auto":
        return _conflicts(ctx, state, conflicts)
    return {}


def lifted(state: DispatchState) -> DecisionParts:
    """Return that the count begins anew and the failed checks are looked at again; nothing where the brake is off.

    The brake is on where it blocks the plan, or where an event waits because of it: the plan may have another block.
    """
    changes = tuple(
        Change(event_id=event.id, verdict="retried", state="pending", reason="a person lifted the brake")
        for event in state.open.values()
        if event.state == "parked" and (event.reason or "").startswith(BRAKE)
    )
    if changes:
        return {"changes": changes, "ci_fixes": CiFixes()}
    if state.block is not None and state.block.cause == "limit":
        return {"ci_fixes": CiFixes()}
    return {}


def rebase_todo(cause: str, event_ids: tuple[str, ...] = (), threads: tuple[Thread, ...] = ()) -> Todo:
    """Return the TODO for a rebase of the branch; `cause` is what its id is derived from."""
    return Todo(
        id=todo_ids.of_cause(cause, _REBASE_OWNER),
        title="Rebase the branch onto its base",
        context="A comment asks to bring the branch up to date with its base, or the branch conflicts with its base.",
        event_ids=event_ids,
        threads=threads,
        rebase=True,
    )


def _checks(ctx: WorkContext, state: DispatchState, failed: Sequence[Event], head: str | None) -> DecisionParts:
    limit, before = ctx.rules.max_ci_fixes, _present(state, head)
    if limit and before.count >= limit:
        return _stopped(ctx, state, failed, before)
    ids = tuple(event.id for event in failed)
    names = ", ".join(dict.fromkeys(_name(event) for event in failed))
    todo = Todo(
        id=todo_ids.of_cause("/".join(ids), _OWNER),
        title=f"Make the failed check pass: {names}",
        context=f"It failed on commit {printable(head or 'unknown')[:12]}. The event has the end of its log.",
        event_ids=ids,
    )
    count = CiFixes(count=before.count + 1, head=head)
    reason = f"a failed check becomes a TODO, {count.count} of {limit or 'any number of'} times"
    changes = tuple(Change(event_id=each, verdict="todo", state="triaged", reason=reason) for each in ids)
    return {"changes": changes, "todos": (todo,), "ci_fixes": count}


def _present(state: DispatchState, head: str | None) -> CiFixes:
    """Return how often checks were to be fixed since a person has last made a head."""
    own = {done.commit for done in state.done_todos.values()} | {state.own_head}
    if state.work is not None:
        own.add(state.work.commit)
    if head is not None and head not in own and head != state.ci_fixes.head:
        return CiFixes(head=head)
    return state.ci_fixes


def _stopped(ctx: WorkContext, state: DispatchState, failed: Sequence[Event], count: CiFixes) -> DecisionParts:
    """Return that a person is asked, because the checks still fail after so many TODOs."""
    reason = (
        f"{BRAKE} = {ctx.rules.max_ci_fixes} is on: checks still fail after {count.count} TODOs to fix them; "
        f"`prloom resume {ctx.plan_id}` lifts it"
    )
    changes = tuple(Change(event_id=event.id, verdict="parked", state="parked", reason=reason) for event in failed)
    parts: DecisionParts = {"changes": changes, "ci_fixes": replace(count, head=_head(failed[0]))}
    if state.block is None:
        way_on = f"prloom resume {ctx.plan_id}"
        parts["block"] = Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, cause="limit")
    return parts


def _conflicts(ctx: WorkContext, state: DispatchState, ids: tuple[str, ...]) -> DecisionParts:
    if state.rebase_todo is not None:
        reason = "the plan has a TODO to rebase the branch already"
        return {"changes": tuple(Change(event_id=i, verdict="todo", state="triaged", reason=reason) for i in ids)}
    reason = '[work] rebase = "auto": the plan has a TODO to rebase the branch'
    return {
        "changes": tuple(Change(event_id=i, verdict="todo", state="triaged", reason=reason) for i in ids),
        "todos": (rebase_todo(f"{ctx.plan_id}/{ids[0]}", ids),),
        "rebase_requested": True,
    }


def _head(event: Event) -> str | None:
    found = event.context.get("commit")
    if isinstance(found, str):
        return found
    return None


def _name(event: Event) -> str:
    found = event.context.get("check")
    if not isinstance(found, str) or not found.strip():
        found = event.title or "a check"
    return printable(found)[:80]
