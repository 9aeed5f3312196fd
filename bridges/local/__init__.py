"""Take feedback from `review.md` in each plan's own folder, and write the replies beneath it.

It needs no account and no network. The file belongs to the person who writes it, and speaks for the operator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from prloom.api import (
    Action,
    BridgeContext,
    Delivered,
    Event,
    ExtensionError,
    Json,
    Polled,
    Refused,
    ResolveThread,
    Target,
    TrackedPlan,
    UnsafePathError,
    iso,
    marker,
)

from . import cursor, rendering, requested_items, review
from .edits import ReviewFileEdit
from .open_lines import OpenLines
from .requested_items import NewItem
from .review import ReviewFile

FILE = "review.md"
TARGET = "local"

_TRIES = 5  # an editor that saves again and again while a reply is written

Edit = Callable[[ReviewFileEdit], Delivered | Refused | None]
"""Adds a change to those of the file, and returns None; or returns a result where the file stays as it is."""


class LocalBridge:
    """Reads the unchecked items, each once; writes replies beneath them, and checks what is done."""

    name = "local"
    targets = (TARGET,)

    def __init__(self) -> None:
        # Each plan's file stamp and cursor after the last poll: while both are the same, the file is not read.
        # And the lines that were ignored in it.
        self._last_read: dict[str, tuple[str | None, Json]] = {}
        self._ignored: dict[str, list[str]] = {}
        self._open_lines = OpenLines()

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Return the items that are new. A file that cannot be read keeps no other from being read."""
        problems: dict[str, str] = {}
        events: list[Event] = []
        after = cursor.requested(state, ctx.plans)
        last_read: dict[str, tuple[str | None, Json]] = {}
        for plan in ctx.plans:
            try:
                stamp = plan.files.stamp(FILE)
                if stamp is None or self._last_read.get(plan.id) != (stamp, after[plan.id]):
                    text = plan.files.read_text(FILE) or ""
                    if self._open_lines.may_go_on(plan.id, text, ctx.now) and ctx.polled_again:
                        continue
                    read = review.parse(text)
                    after[plan.id], new = _update(plan, read, after[plan.id], ctx.now)
                    events += new
                    self._ignored[plan.id] = [*_encoding_problem(plan, text), *_ignored(plan, read)]
                    await asyncio.sleep(0)  # so that many long files do not delay everything else
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one plan's file is no other plan's matter
                problems[plan.id] = str(error)
                self._ignored[plan.id] = [_unreadable(plan.id, str(error))]
            else:
                last_read[plan.id] = (stamp, after[plan.id])
        self._last_read = last_read
        self._ignored = {plan.id: self._ignored.get(plan.id, []) for plan in ctx.plans}
        _log_problems(ctx, cursor.problems(state), problems)
        warnings = [each for ignored in self._ignored.values() for each in ignored]
        return Polled(events, cursor.dump(state, ctx.plans, after, problems), warnings=warnings)

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Write the reply where it belongs, unless it is there; check the box of what is done."""
        return (await self.deliver_batch(ctx, (action,)))[0]

    async def deliver_batch(self, ctx: BridgeContext, actions: Sequence[Action]) -> Sequence[Delivered | Refused]:
        """Write many replies, with one write of each plan's file."""
        results: list[Delivered | Refused] = [Delivered()] * len(actions)
        by_plan: dict[str, tuple[TrackedPlan, dict[int, Edit]]] = {}
        for number, action in enumerate(actions):
            planned = _planned_edit(ctx, action)
            if isinstance(planned, Refused):
                results[number] = planned
            else:
                plan, edit = planned
                by_plan.setdefault(plan.id, (plan, {}))[1][number] = edit
        for plan, edits in by_plan.values():
            for number, result in zip(edits, _write(plan, tuple(edits.values())), strict=True):
                results[number] = result
        return results


def create(config: Mapping[str, Json]) -> LocalBridge:
    """Return the bridge; it has no settings."""
    for key in config:
        raise ExtensionError(f"[bridges.local] has no setting {key!r}; remove it")
    return LocalBridge()


def _update(plan: TrackedPlan, read: ReviewFile, before: Json, now: datetime) -> tuple[Json, list[Event]]:
    """Return what was asked of the plan after a reading of its file, and the new events."""

    def has_ended(request: str) -> bool:
        return plan.has_ended(_event_id(request))

    requests, new = requested_items.update(plan.id, read.items, requested_items.load(before), has_ended)
    return requested_items.dump(requests), [_event(plan, each, now) for each in new]


def _ignored(plan: TrackedPlan, read: ReviewFile) -> list[str]:
    """Return the warnings about the lines that look like items and are not read as such."""
    return [f"plan {plan.id}: line {each.line + 1} of {FILE} is ignored: {each.reason}" for each in read.ignored]


def _encoding_problem(plan: TrackedPlan, text: str) -> list[str]:
    """Return the warning that the file is not UTF-8: what is written in it so is not read, or not as it is meant."""
    if "\0" not in text and "\ufffd" not in text:
        return []
    number = next(number for number, line in enumerate(text.split("\n"), 1) if "\0" in line or "\ufffd" in line)
    return [
        f"plan {plan.id}: {FILE} is not UTF-8 from line {number} on, so items in it may be missing; save it as UTF-8"
    ]


def _unreadable(plan: str, error: str) -> str:
    return f"plan {plan}: its {FILE} cannot be read: {error}"


def _event(plan: TrackedPlan, new: NewItem, now: datetime) -> Event:
    item = new.item
    context = {"plan": plan.id, "file": item.file, "line": item.line, "side": item.side}
    if new.edited is not None:
        context["supersedes"] = _event_id(new.edited.id)
    return Event(
        id=_event_id(new.request.id),
        source=TARGET,
        type="review_feedback",
        title=rendering.title(item.text),
        body=item.body,
        reply_to=Target(TARGET, {"plan": plan.id, "item": new.request.id}),
        context={key: value for key, value in context.items() if value is not None},
        created_at=iso(now),
    )


def _event_id(request: str) -> str:
    return f"local:{request}"


def _log_problems(ctx: BridgeContext, before: Mapping[str, Json], now: Mapping[str, str]) -> None:
    """Log once that a file cannot be read, and once that it can again; the cursor keeps it in between."""
    for name, error in now.items():
        if before.get(name) != error:
            ctx.log.warning("%s", _unreadable(name, error))
    for plan in ctx.plans:
        if plan.id in before and plan.id not in now:
            ctx.log.info("plan %s: its %s can be read again", plan.id, FILE)


def _destination(ctx: BridgeContext, target: Target) -> tuple[TrackedPlan, str | None] | Refused:
    """Return the plan in whose file to write, and the request to write beneath; None: under `## replies`."""
    if target.target != TARGET:
        return Refused(f"the local bridge does not deliver to {target.target!r}")
    parsed = _parse_token(target.token)
    if parsed is None:
        return Refused("the target's token does not name an item; use the event's reply_to, or None for `## replies`")
    named, request = parsed
    if named is None:
        if ctx.plan:
            return (ctx.plan, None)
        return Refused(f"the action does not belong to a plan, so there is no {FILE}")
    plans = [plan for plan in (ctx.plan, *ctx.plans) if plan is not None and plan.id == named]
    if plans:
        return (plans[0], request)
    return Refused(f"there is no plan {named!r} any more")


def _parse_token(token: Json) -> tuple[str | None, str | None] | None:
    """Return the plan and the request that a token names, as far as it does; None: it is not one of ours."""
    match token:
        case {"plan": str(plan), "item": str(request)}:
            return plan, request
        case {"plan": str(plan), "section": review.REPLIES}:
            return plan, None
        case None | {"section": review.REPLIES}:
            return None, None
        case _:
            return None


def _planned_edit(ctx: BridgeContext, action: Action) -> tuple[TrackedPlan, Edit] | Refused:
    """Return the plan whose file an action changes, and how; or why it cannot be delivered."""
    destination = _destination(ctx, action.target)
    if isinstance(destination, Refused):
        return destination
    plan, request = destination
    if isinstance(action.payload, ResolveThread):
        edit = _check_box(request)
    else:
        edit = _add_reply(request, action)
    if isinstance(edit, Refused):
        return edit
    return (plan, edit)


def _add_reply(request: str | None, action: Action) -> Edit | Refused:
    """Return the edit that adds the action's text, or why it cannot be added there."""
    text = rendering.text_of(action.payload)
    if isinstance(text, Refused):
        return text
    lines = rendering.quotation(action.id, text)

    def edit(file: ReviewFileEdit) -> Delivered | Refused | None:
        if marker(action.id) in file.text:
            return Delivered()
        item = None
        if request:
            item = file.item(request)
        if item is not None:
            file.edits.add_beneath(item, lines)
            return None
        if file.edits.add_under_replies(lines):
            return None
        line = (file.review.unclosed or 0) + 1
        problem = f"{FILE} has a block of code or a comment that begins in line {line} and never ends; close it"
        return Refused(problem, retryable=True)

    return edit


def _check_box(request: str | None) -> Edit | Refused:
    """Return the edit that checks the request's box."""
    if request is None:
        return Refused("there is no item whose box could be checked; resolve_thread needs an event's reply_to")

    def edit(file: ReviewFileEdit) -> Delivered | None:
        item = file.item(request)
        if item is None or item.checked:  # one that was taken out of the file: the person has dealt with it
            return Delivered()
        file.edits.check(item)
        return None

    return edit


def _write(plan: TrackedPlan, edits: Sequence[Edit]) -> Sequence[Delivered | Refused]:
    """Change the file as it is at the very moment: it is read again right before it is written."""
    results: list[Delivered | Refused | None] = []
    done: Delivered | Refused = Refused(f"{FILE} is being written by another program", retryable=True)
    try:
        for _ in range(_TRIES):
            before = plan.files.read_text(FILE)
            file = ReviewFileEdit(plan.id, before or "")
            results = [edit(file) for edit in edits]
            if "\ufffd" in file.text:
                done = Refused(f"{FILE} is not UTF-8, and writing to it would damage it; save it as UTF-8")
                break
            if not file.edits or plan.files.read_text(FILE) == before:
                if file.edits:
                    plan.files.replace_text(FILE, file.edits.text())
                done = Delivered()
                break
    except UnsafePathError as error:
        return [Refused(str(error))] * len(edits)
    return [done if result is None else result for result in results]
