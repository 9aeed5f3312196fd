"""Turn what a hook did, or failed to do, into what becomes of its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from msgspec.structs import replace

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core.delivery import outbox
from prloom.core.waits import deferral, wake
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Change
from prloom.model.event import Target
from prloom.model.hook import OBSERVERS, HookCall, Mark, Outcome, Writes
from prloom.model.kinds import Verdict
from prloom.model.record import Json
from prloom.model.state import OpenEvent

OnError = Literal["defer", "pass"]


@dataclass(frozen=True)
class HookResult:
    """What a hook's run amounts to, ready to be committed."""

    changes: tuple[Change, ...]
    actions: tuple[Action, ...]


def settle(
    call: HookCall,
    outcome: Outcome,
    opened: Mapping[str, OpenEvent],
    *,
    plugin: str,
    now: datetime,
    policy: Backoff,
    plan_target: Target,
    open_todos: Collection[str] = (),
) -> HookResult:
    """Return what becomes of the events of a hook that returned.

    An event that was superseded or dropped while the hook ran keeps its end: marks and actions for it are void. A TODO
    that is not among `open_todos` has ended already, and is no condition of a wait.
    """
    open_events = [opened[event.id] for event in call.events if _waiting(opened.get(event.id))]
    marks = {mark.event_id: mark for mark in reversed(outcome.marks)}  # the first mark of an event wins
    changes = [
        _verdict(event, _possible(marks.get(event.id), open_todos), call, plugin=plugin, now=now, policy=policy)
        for event in open_events
    ]
    changes += wake.by_plugin(opened, outcome.wakes, plugin)
    actions = _actions(call, outcome.actions, {event.id: event for event in open_events}, plugin, plan_target)
    return HookResult(tuple(changes), actions)


def too_many_actions(call: HookCall, outcome: Outcome) -> str | None:
    """Return what is wrong with an outcome that requests more actions than one call may, or None."""
    requested, limit = len(outcome.actions), call.limits.actions
    if requested <= limit:
        return None
    return f"{call.hook} asked for {requested} actions in one call; at most {limit} are allowed"


def _waiting(event: OpenEvent | None) -> bool:
    return event is not None and event.state == "pending"


def _possible(mark: Mark | None, open_todos: Collection[str]) -> Mark | None:
    """Return the mark without a TODO that has ended: else the event would be shown again at once, for ever."""
    if mark is None or mark.wake_on is None or mark.wake_on.todo is None or mark.wake_on.todo in open_todos:
        return mark
    left = replace(mark.wake_on, todo=None)
    if left.types or left.threads:
        return replace(mark, wake_on=left)
    return replace(mark, wake_on=None)


def _verdict(
    event: OpenEvent, mark: Mark | None, call: HookCall, *, plugin: str, now: datetime, policy: Backoff
) -> Change:
    if call.hook in OBSERVERS:
        return Change(event_id=event.id, verdict="seen", state="pending", plugin=plugin)
    if mark is None and call.hook.startswith("command:"):
        return Change(event_id=event.id, verdict="handled", state="handled", reason=call.hook.removeprefix("command:"))
    if mark is None:
        return Change(event_id=event.id, verdict="passed", state="pending", plugin=plugin)
    if mark.verdict == "handled":
        return Change(event_id=event.id, verdict="handled", state="handled", reason=mark.reason)
    reason = mark.reason or "no reason was given"
    wait = deferral.defer(
        event,
        plugin,
        reason,
        now=now,
        policy=policy,
        retry_after=_retry_after(mark, call, now),
        until=record.read_time(mark.until),
        on_expire=mark.on_expire,
        wake_on=mark.wake_on,
        counted=event.woken_by is None,
    )
    if backoff.exhausted(policy, wait.attempts - 1):
        return park(event.id, f"{plugin} deferred it {policy.max_attempts} times: {reason}")
    return Change(event_id=event.id, verdict="deferred", state="deferred", reason=reason, deferral=wait)


# A context refuses what makes no sense. But the outcome comes from the plugin's process, which may have made it without
# one, so here it does no harm: the policy's deadline bounds every wait.


def _retry_after(mark: Mark, call: HookCall, now: datetime) -> timedelta | None:
    """Return what is left of the wait; it began at the time that the hook was given.

    So events that a hook means to see together come due together, however long each of its runs took.
    """
    if mark.retry_after_ms is None:
        return None
    wait = timedelta(milliseconds=min(max(mark.retry_after_ms, 0), call.limits.longest_deferral_ms))
    took = max(now - record.moment(call.now), timedelta(0))
    return max(wait - took, timedelta(0))


def _actions(
    call: HookCall, requested: Iterable[Action], open_events: Mapping[str, OpenEvent], plugin: str, plan_target: Target
) -> tuple[Action, ...]:
    """Return the actions with their derived ids; an event's ordinals go on where its earlier showings ended.

    An action that answers none of the call's events is derived from the call; the commit that it is about is that of
    the latest of them.
    """
    events = {event.id: event for event in call.events}
    latest = None
    if call.events:
        latest = call.events[-1]
    about = next(iter(events), "")
    if call.tool is not None:
        about = call.tool.id
    unrelated = f"{call.plan_id}/{call.hook}/{call.now}/{about}"
    counts: dict[str, int] = {}
    actions = []
    for action in requested:
        cause = action.related_event_id
        if cause in events and cause not in open_events:
            continue
        if cause is not None and cause in open_events:
            key = cause
        else:
            key = unrelated
        ordinal = counts.get(key, open_events[key].actions if key in open_events else 0)
        counts[key] = ordinal + 1
        if action.target.target == outbox.PLAN_TARGET:
            target = plan_target
        else:
            target = action.target
        payload = outbox.pin_commit(action.payload, events.get(cause or "", latest), call.head)
        actions.append(replace(action, id=outbox.action_id(key, plugin, ordinal), target=target, payload=payload))
    return tuple(actions)


def settle_failure(
    event_ids: Iterable[str],
    opened: Mapping[str, OpenEvent],
    reason: str,
    *,
    hook: str,
    plugin: str,
    now: datetime,
    policy: Backoff,
    on_error: OnError,
    retry_after: timedelta | None = None,
) -> tuple[Change, ...]:
    """Return what becomes of the events of a hook that failed, or that was not run because its plugin is switched off.

    They wait, by the usual backoff or for `retry_after`, or pass where the operator says so; observers delay nothing.
    """
    open_events = [opened[event_id] for event_id in event_ids if _waiting(opened.get(event_id))]
    if hook in OBSERVERS or on_error == "pass":
        verdict: Verdict = "passed"
        if hook in OBSERVERS:
            verdict = "seen"
        return tuple(
            Change(event_id=event.id, verdict=verdict, state="pending", reason=reason, plugin=plugin)
            for event in open_events
        )
    return tuple(
        defer_failure(event, reason, owner=plugin, now=now, policy=policy, retry_after=retry_after)
        for event in open_events
    )


def defer_failure(
    event: OpenEvent, reason: str, *, owner: str, now: datetime, policy: Backoff, retry_after: timedelta | None = None
) -> Change:
    """Return the deferral of an event by a failure, or its parking after the last attempt.

    `retry_after` is for an owner that was not called at all; that is no attempt. The wait ends at the policy's
    deadline, before a person: what the owner itself had in mind for the end of its own deferral is not meant for its
    failures.
    """
    wait = deferral.defer(
        event,
        owner,
        reason,
        now=now,
        policy=policy,
        retry_after=retry_after,
        until=now + policy.deadline,
        on_expire="park",
        counted=retry_after is None,
    )
    if retry_after is None and backoff.exhausted(policy, wait.attempts):
        return park(event.id, f"{owner} failed on it {wait.attempts} times; the last error: {reason}")
    return Change(event_id=event.id, verdict="deferred", state="deferred", reason=reason, deferral=wait)


def park(event_id: str, reason: str) -> Change:
    """Return the change by which an event needs a person."""
    return Change(event_id=event_id, verdict="parked", state="parked", reason=reason)


def park_unreadable(event_id: str) -> Change:
    """Return the change by which an event needs a person whose text is not there any more as it was read."""
    return park(event_id, "its text in events.jsonl has changed since prloom read it")


def has_conflict(writes: Sequence[Writes], call: HookCall, now: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether a value that the hook read has changed since its call, so that its writes would lose an update.

    `now` holds the stores as they are, by scope.
    """
    before = {"plan": call.state, "global": call.global_state}
    return any(
        before[write.scope].get(key) != now[write.scope].get(key)
        for write in writes
        if write.values or write.deleted
        for key in write.read
    )
