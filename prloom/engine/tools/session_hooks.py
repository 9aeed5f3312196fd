"""Show plugins that an agent's run begins, and that it has ended: sessionStart and sessionEnd."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from prloom.engine.plan import plugin_calls
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.model.hook_points import HookName
from prloom.model.tool import Session

log = logging.getLogger(__name__)

ServicesOf = Callable[[PlanRuntime], PlanServices]


async def run(hook: HookName, session: Session, runtime: PlanRuntime, plugins: PluginSet, services: ServicesOf) -> None:
    """Run a hook about a run in each plugin that has it; they only see it, so what fails is logged, and no more."""
    for key in plugins.with_hook(hook, runtime.rules.config.plugins.disabled):
        try:
            await plugin_calls.run(
                runtime,
                plugins[key],
                hook,
                services(runtime),
                prepare=lambda call: replace(call, session=session),
                limit=runtime.rules.hook_timeout,
            )
        except PrloomError as error:
            log.warning("plan %s: %s of run %s: %s", runtime.id, hook, session.run_id, error)
