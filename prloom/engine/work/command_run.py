"""Run one of the operator's commands in a plan's clone: a check, a commit hook, or a command that sets it up."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from prloom.agents import registry, run_spec
from prloom.agents.agent import RunRequest, RunResult
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import AgentError
from prloom.model.kinds import CHECK
from prloom.model.work import TodoWork


async def run(
    pool: AgentPool,
    runtime: PlanRuntime,
    work: TodoWork,
    command: str,
    *,
    limit: timedelta,
    read: tuple[str, ...] = (),
) -> RunResult:
    """Run a command to its end, and return what it came to; raises AgentError where prloom stopped meanwhile.

    A sandbox shows the paths of `read`, too.
    """
    config, check = runtime.rules.config, registry.runnable(CHECK)
    run_id = run_spec.new_id(runtime.clock(), CHECK)
    request = RunRequest(
        prompt="",
        stage=CHECK,
        cwd=runtime.folders.clone,
        root=pool.root,
        rights="work",
        plan=runtime.id,
        todo=work.id,
        attempt=work.attempt,
        argv=(command,),
    )
    seconds = limit.total_seconds()
    limits = replace(pool.limits(config), wall_seconds=seconds, silence_seconds=seconds)
    folder = pool.prepare(runtime.folders, config, check, run_id, request, limits=limits, read=read)
    result = await pool.run(folder, check, runtime.id, runtime.clock)
    if result.status == "interrupted":
        raise AgentError(result.error or "prloom stopped while the command ran")
    return result
