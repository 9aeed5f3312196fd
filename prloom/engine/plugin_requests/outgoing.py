"""Let plugins request actions and agents' runs."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, Protocol

from msgspec.structs import replace

from prloom.api import store
from prloom.core.delivery import outbox
from prloom.core.plugins import message_chain, plugin_message
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.messages import Messages
from prloom.model.action import Action
from prloom.model.record import Json

EMIT_ACTION: Final = "emit_action"
RUN_AGENT: Final = "run_agent"

LONGEST_PROMPT: Final = 256 * 1024
"""Characters of a prompt."""


class EmitAction(Params, frozen=True, kw_only=True):
    """The params of `emit_action`; the action is as in a hook's outcome."""

    plan_id: str
    action: Mapping[str, Json]


class RunAgent(Params, frozen=True, kw_only=True):
    """The params of `run_agent`."""

    plan_id: str
    prompt: str
    stage: Literal["triage", "worker"]


class RunNamed(Protocol):
    """Runs the agent of a stage on a prompt."""

    async def __call__(
        self, runtime: PlanRuntime, stage: str, text: str, *, plugin: str, begun: Callable[[str], None]
    ) -> tuple[str, str]:
        """Return the run's id, which `begun` is told before it starts, and its final message; raises AgentError.

        It is run for a plugin. What `begun` raises is raised, and the run does not start.
        """


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
        raise request.invalid(EMIT_ACTION, f"action: {error}") from error
    cause = action.related_event_id
    if cause is not None and cause not in runtime.seen_ids:
        raise request.invalid(EMIT_ACTION, f"action.relatedEventId: this plan has no event {cause[:100]!r}")
    target = action.target
    if target.target == outbox.PLAN_TARGET:
        target = reply_target(runtime.plan)
    payload = outbox.pin_commit(action.payload, None, runtime.head)
    return replace(action, target=target, payload=payload)


class PluginRuns:
    """Runs agents for plugins, one at a time for each plugin.

    What is permitted is checked again when the run begins: it may have waited long, for others and for its turn.
    """

    def __init__(self, chains: Chains, run: RunNamed) -> None:
        self._chains = chains
        self._run = run
        self._slots: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, caller: Caller, params: RunAgent) -> Json:
        """Run the agent of a stage in the plan's worktree, and return its final message."""
        if not params.prompt.strip() or len(params.prompt) > LONGEST_PROMPT:
            problem = f"prompt: it has {len(params.prompt)} characters; write 1 to {LONGEST_PROMPT}"
            raise request.invalid(RUN_AGENT, problem)
        async with self._slots[caller.plugin]:
            self._check(caller)
            run_id, message = await self._run(
                caller.plan,
                params.stage,
                params.prompt,
                plugin=caller.plugin,
                begun=partial(self._begin, caller),
            )
        return {"run_id": run_id, "message": message}

    def _check(self, caller: Caller) -> None:
        """Raise RpcError where a run may not begin now."""
        caller.rights_now()
        request.require_usable(caller.plan)
        wait = self._chains.retry_after_ms(caller.plugin)
        if wait is not None:
            raise request.limited(message_chain.refusal(RUN_AGENT), wait)

    def _begin(self, caller: Caller, run_id: str) -> None:
        self._check(caller)
        self._chains.run_begun(run_id, self._chains.next_depth(caller.plugin, caller.plan.id))
