"""Run the operator's checks on a worker's change, one after the other, until one fails."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from prloom.agents import registry, run_spec
from prloom.agents.agent import RunRequest
from prloom.core.work.work_failures import AttemptFailed
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import AgentError
from prloom.model.kinds import CHECK
from prloom.model.work import TodoWork

STAGE = CHECK


@dataclass
class CheckRuns:
    """Runs checks in a plan's clone."""

    pool: AgentPool

    async def first_failure(self, runtime: PlanRuntime, work: TodoWork) -> AttemptFailed | None:
        """Return how the first check that fails did so, or None where all pass; raises AgentError."""
        for command in runtime.rules.config.work.checks:
            failure = await self._run(runtime, work, command)
            if failure is not None:
                return failure
        return None

    async def _run(self, runtime: PlanRuntime, work: TodoWork, command: str) -> AttemptFailed | None:
        config = runtime.rules.config
        check = registry.runnable(CHECK)
        run_id = run_spec.new_id(runtime.clock(), STAGE)
        request = RunRequest(
            prompt="",
            stage=STAGE,
            cwd=runtime.folders.clone,
            root=self.pool.root,
            rights="work",
            plan=runtime.id,
            todo=work.id,
            attempt=work.attempt,
            argv=(command,),
        )
        limits = replace(
            self.pool.limits(config),
            wall_seconds=config.work.check_timeout.total_seconds(),
            silence_seconds=config.work.check_timeout.total_seconds(),
        )
        folder = self.pool.prepare(runtime.folders, config, check, run_id, request, limits=limits)
        result = await self.pool.run(folder, check, runtime.id, runtime.clock)
        if result.status == "ok":
            return None
        if result.status == "interrupted":
            raise AgentError(result.error or "prloom stopped while the check ran")
        reason = f"the check `{command}` failed: {result.error}"
        return AttemptFailed(
            kind="check",
            reason=reason,
            feedback=f"{reason}. The end of its output:\n\n{result.message}",
            tree=work.tree,
            output=f"{command}\n{result.message}",
        )
