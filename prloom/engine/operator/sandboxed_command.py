"""Run a command, or the agent for a person, as a worker of a plan is run: in its clone, environment and sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from prloom.agents import registry, runner
from prloom.agents.agent import Agent, RunRequest
from prloom.agents.programs import command as command_agent
from prloom.config import stages
from prloom.config.models import Config
from prloom.engine.operator import emit, own_changes, session
from prloom.engine.operator.session import AgentCommand
from prloom.engine.runs import run_sandbox
from prloom.engine.runs.run_sandbox import RunEnvironment
from prloom.engine.views import snapshot
from prloom.errors import AgentError, PrloomError
from prloom.model.plan import Plan
from prloom.storage import paths, plan_session
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import checkout, clone, repository
from prloom.workspace import snapshot as worktree_snapshot

STAGE = "worker"


def run(where: RepositoryPaths, config: Config, plan_id: str, argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command in a plan's clone, which is made if need be, and return its exit code.

    prloom does not work on the plan meanwhile. Raises PrloomError where the plan is worked on, or the program is not
    there.
    """
    plan = emit.plan(where, plan_id)
    chosen = config.for_preset(plan.preset)
    with plan_session.reserved(where.root, plan_id, "shell", datetime.now(UTC)):
        _ensure_clone(where, chosen, plan, keeps_files=True)
        return _run(where, chosen, plan, AgentCommand(_agent(chosen, environ), list(argv)), environ)


def run_agent(where: RepositoryPaths, config: Config, plan_id: str, environ: Mapping[str, str]) -> tuple[int, bool]:
    """Run the agent of a plan's workers in its interactive mode, as `run` does.

    Return its exit code, and whether what it changed was brought into the worktree. Raises PrloomError where it cannot
    be; it is kept then.
    """
    plan = emit.plan(where, plan_id)
    chosen = config.for_preset(plan.preset)
    started = session.agent(where, config, plan_id, environ)
    with plan_session.reserved(where.root, plan_id, "agent", datetime.now(UTC)):
        _ensure_clone(where, chosen, plan, keeps_files=False)
        code = _run(where, chosen, plan, started, environ)
        is_brought = own_changes.bring_from_clone(where, config, plan_id)
    session.notify(where, plan_id)
    return code, is_brought


def _run(where: RepositoryPaths, config: Config, plan: Plan, command: AgentCommand, environ: Mapping[str, str]) -> int:
    request = RunRequest(
        prompt="", stage=STAGE, cwd=where.clone(plan.id), root=where.root, rights="work", argv=tuple(command.argv)
    )
    around = RunEnvironment(repository.find(where.root), where.worktrees, environ)
    shown = run_sandbox.of_run(config.sandbox, command.agent, request, around)
    names = (*config.agents.env, *config.sandbox.env)
    started = runner.command_launch(command.agent, replace(request, sandbox=shown), environ=environ, names=names)
    return session.run_in_terminal(started.argv, started.cwd, started.env)


def _agent(config: Config, environ: Mapping[str, str]) -> Agent:
    """Return the agent of the plan's workers; where there is none, one that needs nothing of its own."""
    name = stages.stage(config, STAGE).agent
    try:
        if name == "auto":
            return registry.auto(environ)
        return registry.get(name)
    except AgentError:
        return command_agent


def _ensure_clone(where: RepositoryPaths, config: Config, plan: Plan, *, keeps_files: bool) -> None:
    """Make the plan's clone, or write its repository anew; while a TODO is worked on, the files stay in any case."""
    repo, path = repository.find(where.root), where.clone(plan.id)
    head = repository.branch_sha(repo, plan.branch)
    if head is None:
        raise PrloomError(f"plan {plan.id} has no branch any more, so it has no clone either")
    if clone.exists(repo, path):
        with emit.open_local(where, plan.id) as local, local.make_sub(paths.BUS) as bus:
            is_at_work = snapshot.current_state(bus).work is not None
        present = checkout.head(worktree_snapshot.require(repo, path))
        if is_at_work or (keeps_files and present == head):
            clone.rewrite_repository(repo, path, own_changes.clone_state(where, config, plan, present))
            return
    clone.renew(repo, path, own_changes.clone_state(where, config, plan, head), junk=config.work.junk)
