"""List what waits for a person in one plan, alike items together, each with the command that resolves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from prloom.core.text import event_names, one_line
from prloom.core.text.shown_text import command, option
from prloom.engine.views.dashboard_schema import Need, NeedKind
from prloom.engine.views.status_schema import BlockStatus, PlanStatus
from prloom.engine.views.waiting_schema import FailedAction, HeldEvent, ParkedEvent, WaitingAction
from prloom.model import kinds
from prloom.storage import paths

T = TypeVar("T")

BRAKE = "the brake "
"""How the reason of a wait begins that a limit of `[limits]` causes."""

_LISTED = 3
"""How many ids a command lists; where there are more, it names all of them in another way."""


def of_plan(plan: PlanStatus) -> Iterator[Need]:
    """Yield what waits for a person in a plan."""
    yield from _state(plan)
    yield from _todos(plan)
    yield from (_held(plan, group) for group in _grouped(plan.events.held, lambda each: each.author))
    parked = [each for each in plan.events.parked if not _is_of_block(plan.block, each)]
    yield from (_parked(plan, group) for group in _grouped(parked, lambda each: each.reason))
    yield from _drafts(plan)
    yield from (
        _failed(plan, group) for group in _grouped(plan.actions.failed, lambda each: (each.error, each.withheld))
    )
    yield from (_braked(plan, group) for group in _grouped(plan.actions.waiting or (), _brake))


def _is_of_block(block: BlockStatus | None, event: ParkedEvent) -> bool:
    """Whether the brake that parked an event is what blocks the plan: the command that lifts it is for both."""
    return block is not None and is_brake(event.reason) and event.reason == block.reason


def _key(plan: PlanStatus, kind: NeedKind, name: str) -> str:
    return f"{kind}/{plan.id}/{name}"


def _state(plan: PlanStatus) -> Iterator[Need]:
    """Yield what keeps the plan as a whole from going on."""
    told = plan.block is not None and plan.block.reason == plan.last_error
    if plan.last_error and not told:
        kind: NeedKind = "error"
        if plan.blocked and plan.block is None:
            kind = "blocked"
        yield Need(
            key=_key(plan, kind, "error"),
            kind=kind,
            plan=plan.id or None,
            text=plan.last_error,
            commands=("prloom doctor",),
            since=plan.last_error_since or None,
        )
    if plan.block is not None and plan.status != "paused":
        yield _blocked(plan, plan.block)
    if plan.kept and plan.kept.reason:
        forget = command("forget", plan.id, ("--yes",))
        yield Need(
            key=_key(plan, "kept", ""),
            kind="kept",
            plan=plan.id or None,
            text=f"the plan has ended, and its worktree is kept: {plan.kept.reason}",
            commands=(forget,),
            remedy=f"to give it up with what is open in it, `{forget}`",
            since=plan.ended_at or None,
        )


def _blocked(plan: PlanStatus, block: BlockStatus) -> Need:
    about, reason, remedy = "", block.reason, ""
    if block.title:
        about = f"{_named(block.title)}: "
        reason = reason.removeprefix(f'the TODO "{block.title}" is blocked').removeprefix(": ") or "it is blocked"
    if block.question:
        reason, remedy = f'asks "{block.question}"', f"answer {_where_to_answer(plan)}, or `{block.way_on}`"
    kind: NeedKind = "blocked"
    if block.reason.startswith(BRAKE):
        kind = "brake"
    ids: tuple[str, ...] = ()
    if block.todo is not None:
        ids = (block.todo,)
    return Need(
        key=_key(plan, kind, block.todo or "plan"),
        kind=kind,
        plan=plan.id or None,
        text=about + reason,
        commands=(block.way_on,),
        ids=ids,
        remedy=remedy,
        since=block.since,
    )


def _where_to_answer(plan: PlanStatus) -> str:
    if plan.pr is None and plan.worktree is not None:
        return f"in {PurePath(plan.worktree, *paths.LOCAL, paths.REVIEW)}"
    return "on the pull request"


def _named(todo: str) -> str:
    return f'TODO "{one_line.title(todo)}"'


def _todos(plan: PlanStatus) -> Iterator[Need]:
    """Yield what the work on TODOs waits for: a person's word, or that a brake is lifted."""
    proposed, current = plan.todos.proposed, plan.todos.current
    if proposed:
        need = _todo(
            plan,
            "proposed",
            proposed.id,
            f"{_named(proposed.title)} waits to be allowed",
            proposed.way_on,
        )
        yield replace(need, since=proposed.since or None)
    for todo in plan.todos.parked or ():
        need = _todo(
            plan,
            "parked",
            todo.id,
            f"{_named(todo.title)}: {todo.reason or 'it is blocked'}",
            todo.way_on,
        )
        yield replace(need, since=todo.since or None)
    if current is not None and current.wait and is_brake(current.wait.reason):
        text = f"{_named(current.title)}: {current.wait.reason}"
        need = _todo(plan, "brake", current.id, text, command("resume", plan.id))
        yield replace(need, since=current.wait.since)


def _todo(plan: PlanStatus, kind: NeedKind, todo: str, text: str, way_on: str) -> Need:
    key = _key(plan, kind, f"todo {todo}")
    return Need(key=key, kind=kind, plan=plan.id or None, text=text, commands=(way_on,), ids=(todo,))


def _held(plan: PlanStatus, group: list[HeldEvent]) -> Need:
    ids, author = tuple(each.id for each in group), group[0].author
    by = author or "an unknown author"
    if len(ids) == 1 or author is None or author.startswith("@"):
        approve = command("approve", *map(event_names.of, ids))
    else:
        approve = command("approve", f"@{author}", option("--plan", plan.id))
    return Need(
        key=_key(plan, "held", by),
        kind="held",
        plan=plan.id or None,
        text=f"{_count([each.type for each in group])} by {by}{_because(group[0].reason, by)}",
        commands=(approve,),
        ids=ids,
        since=min(each.held_at for each in group),
        author=author or UNSET,
    )


def _parked(plan: PlanStatus, group: list[ParkedEvent]) -> Need:
    ids, reason = tuple(each.id for each in group), group[0].reason or ""
    kind: NeedKind = "parked"
    way_on = command("retry", *map(event_names.of, ids))
    if is_brake(reason):
        kind, way_on = "brake", command("resume", *filter(None, [plan.id]))
    elif len(ids) > _LISTED:
        way_on = command("retry", ("--parked",), *filter(None, [plan.id]))
    return Need(
        key=_key(plan, kind, ids[0]),
        kind=kind,
        plan=plan.id or None,
        text=_count([each.type for each in group]) + _because(reason, ""),
        commands=(way_on,),
        ids=ids,
        since=min(each.parked_at for each in group),
    )


def _drafts(plan: PlanStatus) -> Iterator[Need]:
    replies = plan.actions.replies or ()
    if not replies:
        return
    ids = tuple(each.id for each in replies)
    noun = "replies wait"
    if len(ids) == 1:
        noun = "reply waits"
    yield Need(
        key=_key(plan, "draft", ""),
        kind="draft",
        plan=plan.id or None,
        text=f"{len(ids)} {noun} for you to send, edit or drop",
        commands=(command("outbox"), command("outbox", "send", *ids[:_LISTED])),
        ids=ids,
        since=min(each.since for each in replies),
    )


def _brake(action: WaitingAction) -> str:
    """Return which brake holds an action back, without the command that lifts it for this one."""
    return action.reason.partition("; ")[0]


def _braked(plan: PlanStatus, group: list[WaitingAction]) -> Need:
    ids = tuple(each.id for each in group)
    way_on, text = command("retry", *ids), group[0].reason
    if len(ids) > 1:
        text = f"{len(ids)} replies wait: {_brake(group[0])}"
    if len(ids) > _LISTED:
        way_on = command("resume", *filter(None, [plan.id]))
    return Need(
        key=_key(plan, "brake", ids[0]),
        kind="brake",
        plan=plan.id or None,
        text=text,
        commands=(way_on,),
        ids=ids,
        since=min(each.since for each in group),
    )


def _failed(plan: PlanStatus, group: list[FailedAction]) -> Need:
    ids, error = tuple(each.id for each in group), group[0].error or "no reason is known"
    noun = "actions failed"
    if len(ids) == 1:
        noun = "action failed"
    kind: NeedKind = "failed"
    way_on = command("retry", *ids)
    if len(ids) > _LISTED:
        way_on = command("retry", option("--plan", plan.id))
    if group[0].withheld:
        kind, way_on = "withheld", command("approve", *ids[:_LISTED])
    return Need(
        key=_key(plan, kind, ids[0]),
        kind=kind,
        plan=plan.id or None,
        text=f"{len(ids)} {noun}: {error}",
        commands=(way_on,),
        ids=ids,
        since=min(each.failed_at for each in group),
    )


def is_brake(reason: str | None) -> bool:
    """Whether a reason is that of a brake, which a person can lift."""
    return (reason or "").startswith(BRAKE)


def _grouped(items: Iterable[T], by: Callable[[T], object]) -> list[list[T]]:
    found: dict[object, list[T]] = {}
    for item in items:
        found.setdefault(by(item), []).append(item)
    return list(found.values())


def _count(types: list[str]) -> str:
    """Return how many events there are, and of what kind where they are all of one."""
    nouns = {kinds.kind(each, by_person=False).noun for each in types}
    one, many = kinds.Kind().noun
    if len(nouns) == 1:
        one, many = nouns.pop()
    if len(types) == 1:
        return f"1 {one}"
    return f"{len(types)} {many}"


def _because(reason: str | None, author: str) -> str:
    """Return a reason in parentheses, without the author's name, which stands before it."""
    if not reason:
        return ""
    return f" ({reason.removeprefix(f'{author} ')})"
