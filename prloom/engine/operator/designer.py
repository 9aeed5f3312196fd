"""Have an agent write a plan, in one run that reads the repository and changes nothing."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from prloom.agents import run_spec
from prloom.agents.agent import RunRequest
from prloom.config.models import Config
from prloom.core import design
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanFolders
from prloom.errors import AgentError
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

STAGE = "designer"


async def run(root: Path, config: Config, request: str, *, plan: str | None = None, environ: Mapping[str, str]) -> str:
    """Return the plan that the agent of the stage `designer` writes for a request; raises AgentError."""
    pool = _pool(root, config, environ)
    prompt = design.design_prompt(
        request=request,
        plan=plan,
        fence=secrets.token_hex(12),
        repository_context=pool.repository_context("planner.md"),
    )
    return design.read_plan(await run_stage(root, config, STAGE, prompt, environ=environ))


async def run_stage(
    root: Path, config: Config, stage: str, prompt: str, *, model: str | None = None, environ: Mapping[str, str]
) -> str:
    """Run a stage's agent, which only reads the checkout, and return its final message; raises AgentError."""
    pool = _pool(root, config, environ)
    agent, model = pool.choose(config, stage, model)
    with SafeDir.make(root, *paths.LOCAL) as local:
        folders = PlanFolders(root, root, local, runs=root.joinpath(*paths.LOCAL, paths.RUNS))
        run_id = run_spec.new_id(_now(), stage)
        wanted = RunRequest(
            prompt=prompt,
            stage=stage,
            cwd=root,
            root=root,
            model=model,
            rights="read",
            argv=config.agents.command.argv,
        )
        try:
            folder = pool.prepare(folders, config, agent, run_id, wanted)
            result = await pool.run(folder, agent, "", _now)
        finally:
            await pool.close()
    if result.status != "ok":
        raise AgentError(f"run {run_id} of {agent.name}: {result.error or result.trouble or result.status}")
    return result.message


def _pool(root: Path, config: Config, environ: Mapping[str, str]) -> AgentPool:
    return AgentPool(root=root, environ=environ, parallel=1, workers=0, exchange=config.exchange.url)


def _now() -> datetime:
    return datetime.now(UTC)
