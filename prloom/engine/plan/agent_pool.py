"""Choose and start agent programs for all plans: so many at a time, and none while its usage limit lasts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from prloom.agents import registry, runner
from prloom.agents.agent import Agent, Remote, RunRequest, RunResult
from prloom.agents.run_spec import RunLimits
from prloom.agents.runner import AgentRun, Prepared
from prloom.config import stages
from prloom.config.models import Config
from prloom.core import brakes, breaker
from prloom.core.brakes import CHECK, DailyLimits
from prloom.core.breaker import UsageLimit
from prloom.engine.bus.event_store import Clock
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.engine.runs import records
from prloom.errors import AgentError, StorageError
from prloom.model.work import TodoWork
from prloom.storage import paths, run_log
from prloom.workspace import repository

log = logging.getLogger(__name__)


class AgentPool:
    """Starts agents: at most `parallel` for triage and hooks and `workers` for TODOs, each with its own supervisor.

    A usage limit is one of the program's, not of the plan whose run has met it: all runs of the program wait for it.
    These limits are in memory only; after a restart, the next run of a program finds out again. The operator's daily
    limits count the runs that are in the log, and those that go on.
    """

    def __init__(self, *, root: Path, environ: Mapping[str, str], parallel: int, workers: int) -> None:
        self.root = root
        self.environ = environ
        self.slots = asyncio.Semaphore(parallel)
        self.worker_slots = asyncio.Semaphore(workers)
        self._limits: dict[str, UsageLimit] = {}
        self._running: dict[str, str] = {}

    def choose(self, config: Config, stage: str, model: str | None = None) -> tuple[Agent, str | None]:
        """Return the agent of a stage and the model that it uses; raises AgentError where there is none."""
        choice = stages.stage(config, stage, model=model)
        if choice.agent == "auto":
            agent = registry.auto(self.environ)
        else:
            agent = registry.get(choice.agent)
        return agent, choice.model

    def limit(self, agent: Agent, config: Config, plan_id: str, now: datetime) -> UsageLimit | None:
        """Return the usage limit that the latest run of a program has met, or the operator's daily limit, if any."""
        met = self._limits.get(agent.name)
        if met is not None and breaker.limit_applies(met, (), now):
            return met
        limits = config.limits
        daily = DailyLimits(
            limits.max_runs_per_plan_per_day,
            limits.max_runs_per_day,
            limits.max_tokens_per_day,
            limits.max_cost_usd_per_day,
        )
        return brakes.tripped(daily, plan_id, run_log.today(self.root, now), tuple(self._running.values()), now)

    def limit_of_todo(self, agent: Agent, runtime: PlanRuntime, work: TodoWork) -> UsageLimit | None:
        """Return the limit that keeps a run for a TODO from being prepared at this moment, or None.

        Call it last of all, with nothing that waits before the run is prepared: other runs begin meanwhile.
        """
        now = runtime.clock()
        limit = self.limit(agent, runtime.rules.config, runtime.id, now)
        if limit is None or not breaker.limit_applies(limit, (), now) or (limit.brake and work.lifted):
            return None
        return limit

    def limits(self, config: Config) -> RunLimits:
        """Return what an agent's run may use."""
        agents = config.agents
        return RunLimits(
            wall_seconds=agents.timeout.total_seconds(),
            silence_seconds=agents.silence.total_seconds(),
            output_bytes=agents.max_output,
        )

    def prepare(
        self,
        folders: PlanFolders,
        config: Config,
        agent: Agent,
        run_id: str,
        request: RunRequest,
        *,
        limits: RunLimits | None = None,
    ) -> Prepared:
        """Make the folder of a run; raises AgentError where that, or the run, is not possible."""
        try:
            folders.local.make_sub(paths.RUNS).close()
        except StorageError as error:  # something else is in its place: the run fails, and not the plan
            raise AgentError(f"run {run_id} could not be started: {error}") from error
        if request.rights == "work":
            found = repository.remote_urls(self.root)
            remotes = tuple(Remote(urls=each.urls, push_urls=each.push_urls) for each in found)
            request = msgspec.structs.replace(request, remotes=remotes)
        if request.stage != CHECK:
            self._running[run_id] = request.plan or ""
        allowing = AgentWithVariables(agent, config.agents.env)
        return runner.prepare(
            folders.runs / run_id, allowing, request, environ=self.environ, limits=limits or self.limits(config)
        )

    async def wait(self, run: AgentRun, agent: Agent, plan_id: str, now: Clock) -> RunResult:
        """Wait for a run and return its result; if this is cancelled first, end the run too."""
        try:
            end = await runner.wait(run)
            result = await asyncio.to_thread(runner.conclude, run, agent, end)
            await asyncio.to_thread(records.save, self.root, run.folder, plan_id, result, now())
        except asyncio.CancelledError:
            runner.stop(run)
            raise
        finally:
            self._running.pop(run.id, None)
        why = ""
        if result.error or result.trouble:
            why = f" ({result.error or result.trouble})"
        log.info("plan %s: run %s of %s has ended: %s%s", plan_id, run.id, agent.name, result.status, why)
        self._note_limit(agent, run, result, now())
        return result

    def _note_limit(self, agent: Agent, run: AgentRun, result: RunResult, now: datetime) -> None:
        """Note the usage limit that a run has met; a run that went well shows that there is none any more."""
        if result.status == "limited":
            reason = f"{agent.name}: {result.error} (run {run.id})"
            self._limits[agent.name] = breaker.limit_met(reason, result.retry_at, now)
        elif result.status == "ok":
            self._limits.pop(agent.name, None)

    def repository_context(self, name: str) -> str | None:
        """Return the operator's own words for agents, from the checkout in which prloom was started."""
        try:
            return (self.root / "prloom" / name).read_text("utf-8", "replace")
        except OSError:
            return None


class AgentWithVariables:
    """An agent that gets some more of the operator's environment, because the configuration says so."""

    def __init__(self, agent: Agent, names: Sequence[str]) -> None:
        self.name = agent.name
        self.program = agent.program
        self.resumes = agent.resumes
        self.counts_sessions = agent.counts_sessions
        self.variables = (*agent.variables, *names)
        self.settings_files = agent.settings_files
        self.invocation = agent.invocation
        self.refusal = agent.refusal
        self.entries = agent.entries
        self.read = agent.read
