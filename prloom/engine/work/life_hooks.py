"""Run the hooks about a plan as a whole: after it began, before and after its finish, and after its end."""

from __future__ import annotations

from prloom.core.work import plan_life
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import plan_hooks, pull_request
from prloom.engine.work.plan_hooks import PlanHook
from prloom.model.work import LifeHook, WorkStep


def next_step(runtime: PlanRuntime, dependencies: PlanDependencies) -> plan_life.PlanHookStep | None:
    """Return what is to be done for the plan as a whole before any TODO."""
    return plan_life.next_step(
        runtime.plan,
        runtime.event_store.state,
        runtime.text.todos(),
        presented=pull_request.is_presented(runtime, dependencies),
    )


async def run(runtime: PlanRuntime, name: LifeHook, dependencies: PlanDependencies) -> None:
    """Run the hooks of a point that have not run yet; each is noted together with what it did.

    Raises PlanHookBlockedError where one fails, or blocks the plan.
    """
    ran = (each.partition(":") for each in runtime.event_store.state.plan_hooked)
    done = {plugin for hook, _, plugin in ran if hook == name}
    hook = PlanHook(name, done, lambda _plugin: WorkStep(todo_id=runtime.id, verdict="hooked"))
    await plan_hooks.run_all(runtime, hook, dependencies.plugin_set, dependencies.triager.services(runtime))
