"""Define the requests of the operator to the dispatcher, and apply them to the events and actions that they name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never, get_args

from msgspec.structs import replace

from prloom.core.delivery import outbox
from prloom.core.work import work_requests
from prloom.model.action import Action, Comment, InlineComment, Payload, Review
from prloom.model.decision import Change, DecisionParts, DeliveryChange
from prloom.model.event import Event
from prloom.model.kinds import PUT_OFF
from prloom.model.record import Json, Position
from prloom.model.state import DispatchState, OpenEvent

DraftVerb = Literal["draft_send", "draft_edit", "draft_drop"]
WorkVerb = Literal["pause", "resume", "block", "unblock", "rebase", "todo_go", "todo_open"]
RequestVerb = Literal["retry", "retry_agent", "approve", "drop", "poll", "forget", WorkVerb, DraftVerb]

SOURCE = "cli"
"""The source of a request's event in `control.jsonl`."""

OPERATOR = "operator"
"""Who decided, where the person at the machine did."""


@dataclass(frozen=True)
class OperatorRequest:
    """One request: `retry`, `approve` and `drop` name events (or actions), `pause` and `resume` plans; `poll` may.

    `forget` needs only to be read: by then the dispatcher has let go of a plan that is none any more.

    `retry_agent` names agent programs: what waits for them, in any plan, has them tried at once.
    `todo_go` (a TODO may begin) and `todo_open` (it is requested again) name TODOs of a `plan`.

    `states` widens a retry to all events in these states. `digests` are the texts that an approval covers, by
    event: where the event has another text, the approval is void. For drafts that are sent, they are the versions.
    """

    id: str
    verb: RequestVerb
    ids: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    reason: str | None = None
    digests: Mapping[str, str] | None = None
    plan: str | None = None


def to_event(request: OperatorRequest, created_at: str) -> Event:
    """Return the request as the event that `control.jsonl` holds."""
    context: dict[str, Json] = {
        "ids": list(request.ids),
        "states": list(request.states),
        "reason": request.reason,
        "digests": dict(request.digests or {}),
    }
    if request.plan is not None:
        context["plan"] = request.plan
    return Event(id=request.id, source=SOURCE, type=request.verb, created_at=created_at, context=context)


def from_event(event: Event) -> OperatorRequest | None:
    """Return the request that an event of `control.jsonl` is, or None for one that is none."""
    verb: RequestVerb | None = next((verb for verb in get_args(RequestVerb) if verb == event.type), None)
    if event.source != SOURCE or verb is None:
        return None
    context = event.context
    digests = context.get("digests")
    reason, plan = context.get("reason"), context.get("plan")
    return OperatorRequest(
        id=event.id,
        verb=verb,
        ids=_texts(context.get("ids")),
        states=_texts(context.get("states")),
        reason=reason if isinstance(reason, str) else None,
        digests=digests if isinstance(digests, dict) else None,
        plan=plan if isinstance(plan, str) else None,
    )


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return ()


def changes(request: OperatorRequest, state: DispatchState) -> tuple[Change, ...]:
    """Return what a request does to the open events of one plan."""
    named = [state.open[event_id] for event_id in request.ids if event_id in state.open]
    match request.verb:
        case "retry":
            wide = [event for event in state.open.values() if event.state in request.states]
            return retried([*named, *(event for event in wide if event not in named)])
        case "approve":
            digests = request.digests or {}
            fitting = [event for event in named if digests.get(event.id, event.digest) == event.digest]
            return approved(fitting, request.reason or "by the operator")
        case "drop":
            reason = request.reason or "dropped by the operator"
            return tuple(Change(event_id=e.id, verdict="dropped", state="dropped", reason=reason) for e in named)
        case (
            "poll"
            | "forget"
            | "retry_agent"
            | "pause"
            | "resume"
            | "block"
            | "unblock"
            | "rebase"
            | "todo_go"
            | "todo_open"
        ):
            return ()
        case "draft_send" | "draft_edit" | "draft_drop":
            return ()
        case _:
            assert_never(request.verb)


def deliveries(request: OperatorRequest, state: DispatchState) -> tuple[DeliveryChange, ...]:
    """Return which queued or failed actions a retry revives: those named, and those of the events named.

    A retry sends nothing that was withheld: that is looked through again. An approval releases it, by its own id only.
    """
    named = set(request.ids)
    if request.verb == "approve":
        withheld = (action for action in state.queue.values() if action.withheld)
        return tuple(outbox.released(action) for action in withheld if action.id in named)
    drafts = [action for action in state.queue.values() if action.draft and action.id in named]
    match request.verb:
        case "draft_send":
            seen = request.digests or {}
            unchanged = [each for each in drafts if seen.get(each.id, outbox.version(each)) == outbox.version(each)]
            return tuple(outbox.sent(action) for action in unchanged)
        case "draft_drop":
            return tuple(outbox.dropped(action, "dropped by the operator") for action in drafts)
        case "retry":
            waiting = (action for action in state.queue.values() if not action.draft)
            return tuple(outbox.revived(a) for a in waiting if a.id in named or (a.event_id in named and a.failed))
        case _:
            return ()


def edited(request: OperatorRequest, state: DispatchState, read: Callable[[Position], Action | None]) -> DecisionParts:
    """Return the drafts with the text that a person has given them, as one decision; none where there is no such draft.

    They keep their ids, and wait on. `read` returns the action at a position.
    """
    if request.verb != "draft_edit" or request.reason is None:
        return {}
    named = [state.queue[each] for each in request.ids if each in state.queue and state.queue[each].draft]
    found = [action for queued in named if (action := read(queued.position)) is not None]
    actions = tuple(replace(action, payload=with_text(action.payload, request.reason)) for action in found)
    if not actions:
        return {}
    return {"actions": actions, "drafts": tuple(action.id for action in actions)}


def with_text(payload: Payload, text: str) -> Payload:
    """Return a payload with other words; one without words stays as it is."""
    match payload:
        case Comment() | InlineComment():
            return replace(payload, message=text)
        case Review():
            return replace(payload, summary=text)
        case _:
            return payload


def work(
    request: OperatorRequest, plan_id: str, state: DispatchState, now: datetime, *, ended: Collection[str] = ()
) -> tuple[DecisionParts, ...]:
    """Return what a request changes in the work on a plan, as one decision or more; none where all stays as it is.

    `ended` are the TODOs whose boxes say that they are done or dropped.
    """
    match request.verb:
        case "pause" if plan_id in request.ids and not state.paused:
            return ({"paused": True},)
        case "resume" if plan_id in request.ids:
            decisions = [work_requests.resumed(state, ended)]
        case "block" if plan_id in request.ids:
            decisions = [work_requests.blocked(state, plan_id, request.reason, now)]
        case "unblock" if plan_id in request.ids:
            decisions = [work_requests.unblocked(state, ended)]
        case "rebase" if plan_id in request.ids:
            decisions = [work_requests.rebase_requested(state, plan_id, request.id)]
        case "todo_go" if plan_id == request.plan:
            decisions = [work_requests.granted(state, todo_id) for todo_id in request.ids]
        case "retry_agent":
            decisions = [work_requests.agents_retried(state, request.ids)]
        case "todo_open" if plan_id == request.plan:
            decisions = [work_requests.opened(state, todo_id) for todo_id in request.ids]
        case _:
            return ()
    return tuple(each for each in decisions if each)


def ids_of_plan(request: OperatorRequest, plan_id: str, state: DispatchState) -> frozenset[str]:
    """Return which of the ids that a request names are a plan's: its own id, or those of its events and actions."""
    if request.verb in {"pause", "resume", "block", "unblock", "rebase"}:
        return frozenset({plan_id} & set(request.ids))
    if request.verb in {"todo_go", "todo_open"}:
        return frozenset(request.ids if request.plan == plan_id else ())
    if request.verb == "retry_agent":
        return frozenset(request.ids)
    return frozenset(each for each in request.ids if each in state.open or each in state.queue)


def retried(events: Iterable[OpenEvent]) -> tuple[Change, ...]:
    """Return the changes by which deferred and parked events are looked at again now."""
    return tuple(
        Change(event_id=event.id, verdict="retried", state="pending", reason="a retry was requested")
        for event in events
        if event.state in PUT_OFF
    )


def approved(events: Iterable[OpenEvent], by: str, *, login: str | None = None) -> tuple[Change, ...]:
    """Return the changes by which held events become pending, because a person approved their text.

    `by` says in words who, and `login` is the account; None is the operator.
    """
    return tuple(
        Change(
            event_id=event.id,
            verdict="vouched",
            state="pending",
            reason=f"approved {by}",
            approved_by=login or OPERATOR,
        )
        for event in events
        if event.state == "held"
    )
