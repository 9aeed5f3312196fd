"""Add a plugin's message to a plan: as an event on its bus, or as a comment on its pull request, each message once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, Protocol

from prloom.core.plugins import message_chain, plugin_message, request_rate
from prloom.core.plugins.request_rate import SpentRequest
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.message_index import MessageIndex
from prloom.extensions.jsonrpc import RpcError
from prloom.model import record
from prloom.model.action import Action
from prloom.model.record import Json

ADD_MESSAGE: Final = "add_message"

BudgetName = Literal["messages", "events", "state"]


class RecordActivity(Protocol):
    """Writes an event of the activity of a plan, and returns its id."""

    def __call__(self, kind: str, data: Mapping[str, Json], *, plan_id: str | None, run_id: str | None = None) -> str:
        """Write the event."""


class Rates:
    """What each plugin's requests of the last minute took of their limits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: dict[tuple[str, BudgetName], tuple[SpentRequest, ...]] = {}

    def check(self, method: str, plugin: str, budget: BudgetName, most: int) -> None:
        """Raise RpcError where one more request would be too many in a minute."""
        wait = self.retry_after_ms(plugin, budget, most)
        if wait is not None:
            raise request_errors.limited(f"{method}: {budget}_per_minute = {most} is used up", wait)

    def retry_after_ms(self, plugin: str, budget: BudgetName, most: int, amount: int = 1) -> int | None:
        """Return in how many milliseconds one more request fits, or None where it fits now."""
        return request_rate.retry_after_ms(self._spent.get((plugin, budget), ()), self._clock(), most, amount)

    def count(self, plugin: str, budget: BudgetName, amount: int = 1) -> None:
        """Count a request that was carried out."""
        now = self._clock()
        earlier = request_rate.recent(self._spent.get((plugin, budget), ()), now)
        self._spent[plugin, budget] = (*earlier, SpentRequest(now, amount))


class AddMessage(Params, frozen=True, kw_only=True):
    """The params of `add_message`."""

    message_id: str
    plan_id: str
    role: str
    content: str


class Messages:
    """Adds messages and actions of plugins."""

    def __init__(self, chains: Chains, rates: Rates, activity: RecordActivity) -> None:
        self._chains = chains
        self._rates = rates
        self._activity = activity
        self._index = MessageIndex()

    async def add(self, caller: Caller, params: AddMessage) -> Json:
        """Add a message, and return the id of what it became; of one that was added before, that of then."""
        problem = plugin_message.problem(params.message_id, params.role, params.content)
        if problem is not None:
            raise request_errors.invalid(ADD_MESSAGE, problem)
        runtime = caller.plan
        known = await self._index.of(runtime)
        event_id = plugin_message.event_id(caller.plugin, runtime.id, params.message_id)
        if event_id in known or event_id in runtime.seen_ids:
            return {"success": True, "event_id": event_id, "duplicate": True}
        action_id = plugin_message.action_id(caller.plugin, runtime.id, params.message_id)
        if action_id in known:
            return {"success": True, "action_id": action_id, "duplicate": True}
        depth = self.admit(caller, ADD_MESSAGE)
        if params.role == "user":
            name, shown, added = "event_id", "eventId", event_id
            self._append(caller, params, depth)
        else:
            name, shown, added = "action_id", "actionId", action_id
            target = reply_target(runtime.plan)
            post = plugin_message.action(caller.plugin, runtime.id, params.message_id, params.content, target)
            self.commit(caller, post)
        known.add(added)
        self.note(caller, depth, {"messageId": params.message_id, "role": params.role, shown: added})
        return {"success": True, name: added, "duplicate": False}

    def admit(self, caller: Caller, method: str) -> int:
        """Return which link of a chain a new message is; raises RpcError where it may not be added now."""
        plugin, plan_id = caller.plugin, caller.plan.id
        wait = self._chains.retry_after_ms(plugin)
        if wait is not None:
            raise request_errors.limited(message_chain.refusal(method), wait)
        self._rates.check(method, plugin, "messages", caller.rights.messages_per_minute)
        return self._chains.next_depth(plugin, plan_id)

    def commit(self, caller: Caller, action: Action, method: str = ADD_MESSAGE) -> None:
        """Queue an action; raises RpcError where the plan's files cannot be written."""
        with self._writing(caller.plan, method):
            caller.plan.event_store.commit("message", caller.plugin, actions=(action,))

    def note(self, caller: Caller, depth: int, data: Mapping[str, Json]) -> None:
        """Count a message that was added, and write it into the activity."""
        plan_id = caller.plan.id
        self._rates.count(caller.plugin, "messages")
        self._chains.added(plan_id, depth)
        about = {"pluginName": caller.plugin, **data, "depth": depth}
        self._activity(plugin_message.RECEIVED, about, plan_id=plan_id)

    def _append(self, caller: Caller, params: AddMessage, depth: int) -> None:
        runtime = caller.plan
        now = runtime.clock()
        event = plugin_message.event(
            caller.plugin, runtime.id, params.message_id, params.content, depth=depth, created_at=record.iso(now)
        )
        with self._writing(runtime, ADD_MESSAGE):
            entries.append(runtime.event_store.events, (event,), now)

    @contextmanager
    def _writing(self, runtime: PlanRuntime, method: str) -> Iterator[None]:
        try:
            with request.writing(method, runtime):
                yield
        except RpcError:  # what was written is not known
            self._index.forget(runtime)
            raise
