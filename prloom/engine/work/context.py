"""Give the core what it needs to know of a plan to decide about the work on it."""

from __future__ import annotations

from prloom.core.work import WorkContext
from prloom.engine.plan.runtime import PlanRuntime


def context(runtime: PlanRuntime) -> WorkContext:
    """Return a plan's id and rules, and the time."""
    return WorkContext(runtime.id, runtime.rules.work, runtime.clock())
