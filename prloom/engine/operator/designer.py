"""Have an agent write a plan: in one run that changes nothing, or by talking with the operator in a terminal."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from prloom import programs
from prloom.agents import interactive, run_spec
from prloom.agents.agent import RunRequest
from prloom.config.models import Config
from prloom.core.prompts import design
from prloom.engine.operator import session
from prloom.engine.plan import repository_context
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
        repository_context=repository_context.read(pool.root, "planner.md"),
    )
    return design.read_plan(await run_stage(root, config, STAGE, prompt, environ=environ))


def talks(config: Config, environ: Mapping[str, str]) -> bool:
    """Whether the designer's agent is one that can talk with a person; raises AgentError where there is none."""
    agent, _ = _pool(Path(), config, environ).choose(config, STAGE)
    return interactive.has_mode(agent)


def talk(root: Path, config: Config, request: str, *, plan: str | None = None, environ: Mapping[str, str]) -> str:
    """Have the designer's agent talk with the operator in this terminal, and return the plan that it wrote.

    Raises AgentError where it wrote none; what it wrote is kept where it cannot be used.
    """
    pool = _pool(root, config, environ)
    agent, model = pool.choose(config, STAGE)
    with SafeDir.make(root, *paths.LOCAL, paths.DESIGNS) as folder:
        name = f"{run_spec.new_id(_now(), STAGE)}.md"
        path = folder.where(name)
        prompt = design.design_prompt(
            request=request,
            plan=plan,
            fence=secrets.token_hex(12),
            repository_context=repository_context.read(pool.root, "planner.md"),
            plan_path=path,
        )
        argv = interactive.argv(agent, model=model, prompt=prompt)
        program = programs.locate(argv[0], environ)
        if program is None:
            raise AgentError(f"{argv[0]} is not on PATH; install it, or write the plan with `prloom new`")
        session.run_in_terminal([program, *argv[1:]], root)
        content = folder.read_bytes(name)
        if content is None:
            raise AgentError(f"the designer has written no plan into {path}; there is no new one")
        try:
            written = design.read_plan(content.decode("utf-8", "replace"))
        except AgentError as error:
            raise AgentError(f"{error}; what it wrote is in {path}") from error
        folder.remove(name)
    return written


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
