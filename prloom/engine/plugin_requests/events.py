"""Let plugins emit events into the activity, where other plugins and people see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import field

from prloom.core.plugins import plugin_event
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.messages import Rates, RecordActivity
from prloom.model.record import Json

EMIT_EVENT: Final = "emit_event"


class EmitEvent(Params, frozen=True, kw_only=True):
    """The params of `emit_event`."""

    type: str
    data: Mapping[str, Json] = field(default_factory=dict)
    plan_id: str | None = None
    run_id: str | None = None


class PluginEvents:
    """Emits events of plugins; `goes_on` says whether a run of a plan goes on, by plan and run."""

    def __init__(
        self, chains: Chains, rates: Rates, activity: RecordActivity, goes_on: Callable[[str, str], bool]
    ) -> None:
        self._chains = chains
        self._rates = rates
        self._activity = activity
        self._goes_on = goes_on

    async def emit(self, caller: Caller, params: EmitEvent) -> Json:
        """Emit an event, and return the id that it has in the activity."""
        problem = plugin_event.type_problem(params.type)
        if problem is not None:
            raise request_errors.invalid(EMIT_EVENT, problem)
        if params.run_id is not None:
            self._check_run(params.plan_id, params.run_id)
        depth = self._chains.shown_depth(caller.plugin)
        self._rates.check(EMIT_EVENT, caller.plugin, "events", caller.rights.events_per_minute)
        self._rates.count(caller.plugin, "events")
        data = {
            "pluginName": caller.plugin,
            "type": plugin_event.type_of(caller.plugin, params.type),
            "data": params.data,
            "depth": depth,
        }
        emitted = self._activity("PLUGIN_EVENT_EMITTED", data, plan_id=params.plan_id, run_id=params.run_id)
        return {"success": True, "id": emitted}

    def _check_run(self, plan_id: str | None, run_id: str) -> None:
        if plan_id is None:
            raise request_errors.invalid(EMIT_EVENT, "run_id: give the plan_id of the run too")
        if not self._goes_on(plan_id, run_id):
            raise request_errors.invalid(
                EMIT_EVENT, f"run_id: no run {run_id[:100]!r} of plan {plan_id} is running; leave it out"
            )
