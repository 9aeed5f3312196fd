"""Let plugins request actions, as hooks do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from prloom.api import store
from prloom.core.delivery import outbox
from prloom.core.plugins import plugin_message
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime, local_target, reply_target
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.messages import Messages
from prloom.model.action import Action
from prloom.model.event import Event, Target
from prloom.model.record import Json

EMIT_ACTION: Final = "emit_action"

_NOT_OWN: Final = (
    "it is neither the conversation of plan {plan} nor the replyTo of an event of it; leave it out for the plan's own"
    " conversation, or give the replyTo of the event that relatedEventId names"
)

_LATEST_BYTES: Final = 1024 * 1024
"""Bytes at the end of a plan's events in which one with the target of an action is looked for."""


class EmitAction(Params, frozen=True, kw_only=True):
    """The params of `emit_action`; the action is as in a hook's outcome."""

    plan_id: str
    action: Mapping[str, Json]


class PluginActions:
    """Queues the actions that plugins request."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def emit(self, caller: Caller, params: EmitAction) -> Json:
        """Queue an action, and return its id; it counts as a message."""
        runtime = caller.plan
        action = _checked(runtime, params.action)
        depth = self._messages.admit(caller, EMIT_ACTION)
        key = f"{runtime.id}/{EMIT_ACTION}/{secrets.token_hex(12)}"
        action = replace(action, id=outbox.action_id(key, plugin_message.source(caller.plugin), 0))
        self._messages.commit(caller, action, EMIT_ACTION)
        self._messages.note(caller, depth, {"role": "action", "kind": action.kind, "actionId": action.id})
        return {"action_id": action.id}


def _checked(runtime: PlanRuntime, wanted: Mapping[str, Json]) -> Action:
    """Return the action that is wanted, with its target and the commit that it is about; raises RpcError."""
    request.require_usable(runtime)
    try:
        action = store.check_action({"target": {"target": outbox.PLAN_TARGET}, **wanted}, None, ())
    except ValueError as error:
        raise request_errors.invalid(EMIT_ACTION, f"action: {error}") from error
    cause = action.related_event_id
    if cause is not None and cause not in runtime.seen_ids:
        raise request_errors.invalid(EMIT_ACTION, f"action.relatedEventId: this plan has no event {cause[:100]!r}")
    target = action.target
    if target.target == outbox.PLAN_TARGET:
        target = reply_target(runtime.plan)
    elif not _is_own(runtime, target, cause):
        raise request_errors.invalid(EMIT_ACTION, f"action.target: {_NOT_OWN.format(plan=runtime.id)}")
    payload = outbox.pin_commit(action.payload, None, runtime.head)
    return replace(action, target=target, payload=payload)


def _is_own(runtime: PlanRuntime, target: Target, cause: str | None) -> bool:
    """Whether a target is this plan's conversation, or that of an event of it: the one it answers, or a late one."""
    if target.token is None:  # it names no place, so the bridge takes the plan's
        return True
    if target in (reply_target(runtime.plan), local_target(runtime.plan)):
        return True
    return any(event.reply_to == target for event in _answerable(runtime, cause))


def _answerable(runtime: PlanRuntime, cause: str | None) -> Iterator[Event]:
    journal = runtime.event_store.events
    position = None
    if cause is not None:
        position = runtime.seen_ids.position(cause)
    if position is not None:
        answered = entries.event(journal.read_at(position))
        if answered is not None:
            yield answered
    for entry in journal.tail(_LATEST_BYTES):
        event = entries.event(entry.line)
        if event is not None:
            yield event
