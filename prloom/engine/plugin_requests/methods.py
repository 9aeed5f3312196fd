"""Carry out the requests of plugins: find the method, check what the operator permits, and find the plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from prloom.config.models import Config
from prloom.core.plugins import plugin_rights
from prloom.core.plugins.plugin_rights import PluginRights
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.grants import Grant
from prloom.extensions import jsonrpc, keys
from prloom.extensions.jsonrpc import RpcError
from prloom.model.record import Json

Carry = Callable[[Caller, Any], Awaitable[Json]]
"""Carries out a request with params that are checked."""

_SHOWN: Final = 100


class RequestMethod(NamedTuple):
    """A method: the shape of its params, and what carries it out."""

    shape: type[Params]
    carry: Carry


class Methods:
    """All methods that a daemon may call, by name; implements `authority.RequestMethods`."""

    def __init__(self, registry: PlanRegistry, general: Config, methods: Mapping[str, RequestMethod]) -> None:
        self._registry = registry
        self._general = general
        self._methods = methods

    def knows(self, method: str) -> bool:
        """Whether there is a method of this name."""
        return method in self._methods

    async def answer(self, grant: Grant, method: str, params: Json) -> Json:
        """Return the result of a method; raises RpcError."""
        found = self._methods.get(method)
        if found is None:
            known = ", ".join(self._methods)
            raise RpcError(f"there is no method {method[:_SHOWN]!r}; there are {known}", jsonrpc.METHOD_NOT_FOUND)
        plan_id = _named(params, "plan_id")
        rights_now = partial(self._rights_now, grant, method, plan_id, _named(params, "stage"))
        rights, runtime = rights_now(), self._plan(plan_id)
        checked = request.read(method, found.shape, params)
        if plan_id is not None and runtime is None:
            raise request_errors.unknown_plan(plan_id)
        return await found.carry(Caller(grant, rights_now, rights, runtime), checked)

    def _rights_now(self, grant: Grant, method: str, plan_id: str | None, stage: str | None) -> PluginRights:
        """Return what a plugin is permitted at this moment; raises RpcError where the request is not."""
        if grant.over:
            raise request_errors.denied("this token is not valid any more, for its daemon was ended")
        if not self._registry.accepting:
            raise request_errors.not_ready("the dispatcher is starting or stopping")
        runtime, config = self._plan(plan_id), self._general
        if runtime is not None:
            config = runtime.rules.config
        rights = self._rights(config, grant.plugin)
        denial = plugin_rights.denial(grant.plugin, method, rights, stage)
        if denial is not None:
            raise request_errors.denied(denial)
        if keys.resolve(grant.plugin, config.plugins.disabled) is not None:
            raise request_errors.denied(f"{method}: permission denied; plan {plan_id} disables plugin {grant.plugin}")
        return rights

    def _rights(self, config: Config, plugin: str) -> PluginRights:
        """Return what a plugin is permitted: by the table of its key, or by the only one whose name means it."""
        tables = config.plugins.permissions
        if plugin in tables:
            return tables[plugin].rights
        named = (name for name in tables if keys.resolve(name, self._registry.plugins) == plugin)
        found = next(named, None)
        if found is None:
            return PluginRights()
        return tables[found].rights

    def _plan(self, plan_id: str | None) -> PlanRuntime | None:
        """Return the open plan of an id; the repository as a whole is none."""
        if plan_id is None:
            return None
        return self._registry.runtimes.get(plan_id)


def _named(params: Json, name: str) -> str | None:
    """Return a text among params that are not checked yet."""
    if isinstance(params, dict) and isinstance(params.get(name), str):
        found: str = params[name]
        return found
    return None
