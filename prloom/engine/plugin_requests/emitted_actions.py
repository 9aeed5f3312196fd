"""Let plugins request actions, as hooks do."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from prloom.api import store
from prloom.core.delivery import outbox
from prloom.core.plugins import plugin_message
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.messages import Messages
from prloom.model.action import Action
from prloom.model.record import Json

EMIT_ACTION: Final = "emit_action"


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
    payload = outbox.pin_commit(action.payload, None, runtime.head)
    return replace(action, target=target, payload=payload)
