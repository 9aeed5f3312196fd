"""Let a daemon read and write its plugin's stores: the same values that the plugin's hooks see."""

from __future__ import annotations

from typing import Final

import msgspec

from prloom.api.store import Store
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.messages import Rates
from prloom.errors import ExtensionError
from prloom.extensions.jsonrpc import RpcError
from prloom.model.decision import Scope, StateWrite
from prloom.model.hook import Limits
from prloom.model.record import Json

_LIMIT: Final = Limits().state_bytes

BYTES_PER_MINUTE: Final = 16 * 1024 * 1024
"""What a plugin may write into its stores in any minute: each value is in the plan's log until the log is cut."""

_SMALLEST: Final = 1024  # what a write counts as at least: it is flushed, whatever its size


class GetState(Params, frozen=True, kw_only=True):
    """The params of `get_state`."""

    plan_id: str
    key: str


class SetState(Params, frozen=True, kw_only=True):
    """The params of `set_state`; null removes the value."""

    plan_id: str
    key: str
    value: Json


class GetGlobalState(Params, frozen=True, kw_only=True):
    """The params of `get_global_state`."""

    key: str


class SetGlobalState(Params, frozen=True, kw_only=True):
    """The params of `set_global_state`; null removes the value."""

    key: str
    value: Json


class StateRequests:
    """Reads and writes the stores of plugins; `repository` has the one that all plans share."""

    def __init__(self, repository: PlanRuntime, rates: Rates) -> None:
        self._repository = repository
        self._rates = rates

    async def get(self, caller: Caller, params: GetState) -> Json:
        """Return a value of the plan, or null."""
        return _read("get_state", caller, caller.plan, "plan", params.key)

    async def set(self, caller: Caller, params: SetState) -> Json:
        """Set a value of the plan."""
        return self._write("set_state", caller, caller.plan, "plan", params)

    async def get_global(self, caller: Caller, params: GetGlobalState) -> Json:
        """Return a value that all plans share, or null."""
        return _read("get_global_state", caller, self._repository, "global", params.key)

    async def set_global(self, caller: Caller, params: SetGlobalState) -> Json:
        """Set a value that all plans share."""
        return self._write("set_global_state", caller, self._repository, "global", params)

    def _write(
        self, method: str, caller: Caller, runtime: PlanRuntime, scope: Scope, params: SetState | SetGlobalState
    ) -> Json:
        """Commit a write, unless the value is the same already."""
        write = _changed(method, caller, runtime, scope, params)
        if write is not None:
            size = max(len(msgspec.json.encode(params.value)), _SMALLEST)
            wait = self._rates.retry_after_ms(caller.plugin, "state", BYTES_PER_MINUTE, size)
            if wait is not None:
                text = f"{method}: a plugin may write {BYTES_PER_MINUTE} bytes of state in a minute; these are used up"
                raise request_errors.limited(text, wait)
            with request.writing(method, runtime):
                runtime.event_store.commit("state", caller.plugin, writes=(write,))
            self._rates.count(caller.plugin, "state", size)
        return {"success": True}


def _read(method: str, caller: Caller, runtime: PlanRuntime, scope: Scope, key: str) -> Json:
    store = _store(caller, runtime, scope)
    try:
        return {"value": store.get(key)}
    except ExtensionError as error:
        raise _refused(method, error) from error


def _changed(
    method: str, caller: Caller, runtime: PlanRuntime, scope: Scope, params: SetState | SetGlobalState
) -> StateWrite | None:
    """Return the write that sets a value; None where the value is the same already. Raises RpcError."""
    stores, store = runtime.stores_by_scope[scope], _store(caller, runtime, scope)
    try:
        store.set(params.key, params.value)
    except ExtensionError as error:
        raise _refused(method, error) from error
    if _same(stores.get(caller.plugin).values.get(params.key), params.value):
        return None
    made = store.writes()
    return StateWrite(
        plugin=caller.plugin,
        scope=scope,
        version=stores.next_version(caller.plugin),
        values=made.values,
        deleted=made.deleted,
    )


def _same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: to Python, true is 1."""
    return msgspec.json.encode(one) == msgspec.json.encode(other)


def _refused(method: str, error: ExtensionError) -> RpcError:
    """Return the error for what a store refuses; its text begins with the call of a Python context."""
    return request_errors.invalid(method, str(error).partition("): ")[2] or str(error))


def _store(caller: Caller, runtime: PlanRuntime, scope: Scope) -> Store:
    request.require_usable(runtime)
    values = runtime.stores_by_scope[scope].get(caller.plugin).values
    return Store(caller.plugin, scope, values, limit=_LIMIT)
