"""Run the operator's checks on a worker's change, one after the other, until one fails."""

from __future__ import annotations

from prloom.core.work.work_failures import AttemptFailed
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import command_run
from prloom.model.work import TodoWork


async def first_failure(pool: AgentPool, runtime: PlanRuntime, work: TodoWork) -> AttemptFailed | None:
    """Return how the first check that fails did so, or None where all pass; raises AgentError."""
    config = runtime.rules.config.work
    for command in config.checks:
        result = await command_run.run(pool, runtime, work, command, limit=config.check_timeout)
        if result.status == "ok":
            continue
        reason = f"the check `{command}` failed: {result.error}"
        return AttemptFailed(
            kind="check",
            reason=reason,
            feedback=f"{reason}. The end of its output:\n\n{result.message}",
            tree=work.tree,
            output=f"{command}\n{result.message}",
        )
    return None
