"""Fold the decision log into the state that it amounts to."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import assert_never

from msgspec.structs import replace

from prloom.core.delivery import reply_limit
from prloom.core.waits import standstill
from prloom.core.work import work_projection
from prloom.model import record
from prloom.model.decision import Change, Decision, DeliveryChange, Intake
from prloom.model.kinds import OpenState
from prloom.model.record import Cursor, Json, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent, QueuedAction


def fold(
    state: DispatchState,
    decision: Decision,
    *,
    at: Timestamp,
    end: Cursor,
    outbox: Mapping[str, Position],
    tail: Cursor,
) -> DispatchState:
    """Return the state after one more decision.

    `at` is when it was made and `end` where its line ends. `outbox` says where its actions are in the journal of
    actions, which ends at `tail`.
    """
    recalled = snapshot_state(decision)
    if recalled is not None:
        return replace(recalled, log=end, seq=decision.seq)
    opened, done = dict(state.open), dict(state.done)
    for change in decision.changes:
        _change(opened, done, change, decision, at)
    queue = dict(state.queue)
    _queue(queue, opened, decision, at=at, outbox=outbox)
    sent = [
        queue[each.action_id] for each in decision.deliveries if each.state == "delivered" and each.action_id in queue
    ]
    delivered = state.delivered + _deliver(queue, decision.deliveries, at)
    return replace(
        state,
        seq=decision.seq,
        log=end,
        cursor=decision.cursor or state.cursor,
        fingerprint=state.fingerprint if decision.cursor is None else decision.fingerprint,
        rereading=state.rereading if decision.cursor is None else decision.rereading,
        outbox=tail,
        open=opened,
        done=done,
        queue=queue,
        delivered=delivered,
        replies=reply_limit.counted(state.replies, sent, at),
        progressed_at=at if standstill.is_progress(decision) else state.progressed_at,
        **_paused(state, decision, at),
        **work_projection.fields(state, decision, at),
    )


def _paused(state: DispatchState, decision: Decision, at: Timestamp) -> Mapping[str, Json]:
    """Return whether the plan is paused, and since when."""
    if decision.paused is None:
        return {}
    if not decision.paused:
        return {"paused": False, "paused_at": None}
    return {"paused": True, "paused_at": state.paused_at or at}


def snapshot_state(decision: Decision) -> DispatchState | None:
    """Return the state that a snapshot holds; None for any other decision. Raises ValidationError or LookupError."""
    if decision.snapshot is None:
        return None
    return record.from_wire(DispatchState, decision.snapshot["state"])


def takes_effect(change: Change, opened: Container[str]) -> bool:
    """Whether a change is about an event that is open or comes in: what comes later than its end changes nothing."""
    return change.intake is not None or change.event_id in opened


def _change(
    opened: dict[str, OpenEvent], done: dict[str, int], change: Change, decision: Decision, at: Timestamp
) -> None:
    """Move one event to its new state."""
    if not takes_effect(change, opened):
        return
    before = opened.pop(change.event_id, None)
    match change.state:
        case "handled" | "triaged" | "dropped" | "superseded" as end:
            done[end] = done.get(end, 0) + 1
        case state if before is not None:
            opened[change.event_id] = _moved(before, change, decision, at)
        case state if change.intake is not None:
            opened[change.event_id] = _taken_in(change, change.intake, state, decision, at)


def _taken_in(change: Change, intake: Intake, state: OpenState, decision: Decision, at: Timestamp) -> OpenEvent:
    """Return an event as it is after the first decision about it: pending, held, or waiting for a look-up.

    CPython passes more than 15 names to a call by way of a dict, five times as slowly: so what few events have comes
    after the others.
    """
    taken_in = OpenEvent(
        id=change.event_id,
        state=state,
        position=intake.position,
        type=intake.type,
        source=intake.source,
        digest=intake.digest,
        since=at,
        author=intake.author,
        created_at=intake.created_at,
        written_at=intake.written_at,
        reason=change.reason,
        by=decision.by,
        vouched=change.verdict == "vouched",
        deferral=change.deferral,
        deferred_at=None if change.deferral is None else at,
    )
    if intake.acknowledgement is not None and state == "held":
        taken_in = replace(taken_in, acknowledgement=intake.acknowledgement)
    if intake.commit is not None:
        taken_in = replace(taken_in, commit=intake.commit)
    if intake.notice:
        return replace(taken_in, notice=True)
    return taken_in


def _moved(before: OpenEvent, change: Change, decision: Decision, at: Timestamp) -> OpenEvent:
    """Return the open event in its new state; what a verdict does not speak of stays as it was."""
    moved = replace(
        before,
        state=change.state,
        since=at if change.state != before.state else before.since,
        reason=change.reason,
        by=decision.by,
        alone=before.alone or change.alone,
        run=decision.run if change.verdict == "started" else None,
        woken_by=change.woken_by or (before.woken_by if change.state == "pending" else None),
        acknowledgement=before.acknowledgement if change.state == "held" else None,
    )
    match change.verdict:
        case "seen":
            return replace(moved, seen=(*before.seen, change.plugin or decision.by))
        case "passed":
            return replace(moved, passed=(*before.passed, change.plugin or decision.by))
        case "retried" if before.state == "parked":  # a person has looked: the wait begins anew
            return replace(moved, passed=(), deferral=None, first_deferred_at=None, failures=0)
        case "due" | "woken" | "retried":
            return replace(moved, passed=())
        case "admitted" | "vouched" | "held":  # a look-up's wait is over, and does not count as a deferral
            vouched = change.verdict == "vouched"
            named = None if change.deferral is None else at
            moved = replace(moved, first_deferred_at=None, deferred_at=named, approved_by=change.approved_by)
            return replace(moved, deferral=change.deferral, vouched=vouched)
        case "expired":
            # Plugins that let it pass before do not see it again: two owners would defer it in alternation for ever.
            passed = (*before.passed, change.plugin) if change.plugin else ()
            return replace(moved, passed=passed, deferral=None)
        case "failed":
            return _with_wait(replace(moved, failures=before.failures + 1), before, change, at)
        case (
            "handled" | "deferred" | "parked" | "dropped" | "superseded" | "started" | "limited" | "quota" | "cut_short"
        ):
            return _with_wait(moved, before, change, at)
        case "todo" | "answered" | "acknowledged" | "declined":
            return moved
        case _:
            assert_never(change.verdict)


def _with_wait(moved: OpenEvent, before: OpenEvent, change: Change, at: Timestamp) -> OpenEvent:
    """Return the event with the deferral that the change brings, if any; the first one bounds the whole wait."""
    if change.deferral is None:
        return moved
    first = before.first_deferred_at or change.deferral.first_deferred_at
    return replace(moved, deferral=change.deferral, first_deferred_at=first, deferred_at=at)


def _queue(
    queue: dict[str, QueuedAction],
    opened: dict[str, OpenEvent],
    decision: Decision,
    *,
    at: Timestamp,
    outbox: Mapping[str, Position],
) -> None:
    """Queue the decision's actions, and count them on the event that caused them."""
    for action in decision.actions:
        related = action.related_event_id
        queue[action.id] = QueuedAction(
            id=action.id,
            position=outbox[action.id],
            target=action.target.target,
            since=at,
            event_id=related,
            courtesy=action.id in decision.courtesies,
            draft=action.id in decision.drafts,
            thread=reply_limit.thread(action),
        )
        if related in opened:
            opened[related] = replace(opened[related], actions=opened[related].actions + 1)


def _deliver(queue: dict[str, QueuedAction], deliveries: tuple[DeliveryChange, ...], at: Timestamp) -> int:
    """Bring the queue up to what was delivered, and return how many actions that say something were."""
    delivered = 0
    for delivery in deliveries:
        action = queue.get(delivery.action_id)
        if action is None:
            continue
        if delivery.state in {"delivered", "dropped"}:
            del queue[action.id]
            delivered += delivery.state == "delivered" and not action.courtesy
            continue
        queue[action.id] = replace(
            action,
            since=at if delivery.state == "queued" else action.since,
            attempts=delivery.attempts,
            next_try=delivery.next_try,
            tried_at=None if delivery.state == "queued" else at,
            error=delivery.error,
            failed=delivery.state == "failed",
            draft=action.draft and delivery.state != "queued",
            withheld=delivery.withheld,
            released=action.released or delivery.released,
            commit=action.commit or delivery.commit,
            lifted=action.lifted or delivery.state == "queued",
        )
    return delivered
