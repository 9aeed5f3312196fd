"""What the afterDesign hooks make of a plan that a designer has written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from stage import Stage

from prloom.api import PluginContext
from prloom.engine.operator import design_hooks
from prloom.engine.operator.design_hooks import Designed
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin

WRITTEN = "# Fast\n\n## TODO\n- [ ] Measure\n"

Hook = Callable[[str, Any], Awaitable[str | None]]


async def designed(stage: Stage, *hooks: Hook) -> Designed:
    """Return the plan as the hooks leave it, each that of a plugin `p0`, `p1`, …"""

    def plugin(number: int, hook: Hook) -> RunningPlugin:
        def register(ctx: PluginContext) -> None:
            ctx.hook("afterDesign")(hook)

        key = f"p{number}"
        return RunningPlugin(key, "test", stage.plugin(key, register), "defer")

    plugins = PluginSet([plugin(number, hook) for number, hook in enumerate(hooks)])
    return await design_hooks.run(plugins, stage.root, stage.config, WRITTEN, plan_id="fast", environ={})


def returning(change: Callable[[str], str]) -> Hook:
    async def hook(plan: str, ctx: Any) -> str:
        return change(plan)

    return hook


async def raising(plan: str, ctx: Any) -> None:
    raise ValueError("no")


async def saving(plan: str, ctx: Any) -> None:
    ctx.set_state("a", 1)


async def forgetting(plan: str, ctx: Any) -> None:
    ctx.run_agent("Is it good?")


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (returning(lambda plan: "no title"), "the plan has no title"),
        (returning(lambda plan: ""), "returned an empty text"),
        (returning(lambda plan: f"---\nbase: [x\n---\n{plan}"), "the front matter"),
        (returning(lambda plan: f"---\npreset: careful\n---\n{plan}"), "no preset careful is configured"),
        (returning(lambda plan: plan + "x" * 2_000_000), "bytes"),
        (returning(lambda plan: plan + "\ud800"), "surrogate"),
        (raising, "afterDesign raised ValueError: no"),
        (saving, "a plan that was only just written has no"),
        (forgetting, "it was not awaited"),
    ],
)
async def test_a_hook_that_fails_or_makes_no_plan_of_it_leaves_what_was_written_and_is_named(
    stage: Stage, hook: Hook, reason: str
) -> None:
    made = await designed(stage, returning(lambda plan: f"{plan}- [ ] Look\n"), hook)

    assert made.text == f"{WRITTEN}- [ ] Look\n"
    assert made.blocked is not None
    assert made.blocked.startswith("plugin p1: afterDesign failed: ")
    assert reason in made.blocked
