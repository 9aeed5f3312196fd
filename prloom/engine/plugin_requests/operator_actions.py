"""Run the actions of daemons for the operator's command `prloom action`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from prloom.core.commands.requests import OPERATOR
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests.registered_actions import RegisteredActions
from prloom.errors import PrloomError
from prloom.model.record import Json

RUN: Final = "runAction"
"""What the command asks over the dispatcher's socket: {"plugin", "name", "params", "plan"}."""


async def run(actions: RegisteredActions, registry: PlanRegistry, limit: timedelta, params: Json) -> Json:
    """Run an action; raises PrloomError with the reason why it cannot be run, or has failed."""
    match params:
        case {"plugin": str(plugin), "name": str(name), "params": dict(given), "plan": str() | None as plan}:
            if plan is not None and plan not in registry.runtimes:
                raise PrloomError(f"there is no plan {plan}")
            return {"result": await actions.run(plugin, name, given, plan_id=plan, by=OPERATOR, limit=limit)}
        case _:
            raise PrloomError('give {"plugin", "name", "params", "plan"}')
