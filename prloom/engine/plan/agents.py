"""Run agents: one run for a batch of events, or for a hook; and settle the runs of an earlier dispatcher."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from prloom.agents import registry, run_folder, runner
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.agents.run_folder import RunLimits
from prloom.api.context import Services
from prloom.config import stages
from prloom.config.models import Config
from prloom.core import breaker, prompt
from prloom.core.breaker import UsageLimit
from prloom.core.dispatch import RunTriage
from prloom.engine.plan.plugin_set import HookServices
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime, reply_target
from prloom.engine.plan.triage_results import TriageRun
from prloom.errors import AgentError, StorageError
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import paths

log = logging.getLogger(__name__)

STAGE = "triage"

LATEST = 50
"""The number of a plan's latest runs among which those are stopped that no job waits for."""


class AgentTriager:
    """Runs agents: at most `dispatcher.max_parallel_plans` at a time, each watched by a supervisor of its own.

    A usage limit is one of the program's, not of the plan whose run has met it: all runs of the program wait for it.
    The limits are in memory only; after a restart, the next run of a program finds out again.
    """

    def __init__(
        self, *, root: Path, environ: Mapping[str, str], parallel: int, read_plan: Callable[[str], str]
    ) -> None:
        self._root = root
        self._environ = environ
        self._read_plan = read_plan
        self._slots = asyncio.Semaphore(parallel)
        self._limits: dict[str, UsageLimit] = {}

    def slot(self) -> asyncio.Semaphore:
        """Return what a run has to acquire; runs get it in the order in which they request it."""
        return self._slots

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        """Find out what became of a run that no job waits for, wait for it if it goes on, and settle it."""
        opened = runtime.event_store.state.open
        started_by = [opened[event_id].by or "" for event_id in event_ids if event_id in opened]
        folder = runtime.folders.runs / run
        agent = None
        if started_by:
            agent = registry.AGENTS.get(started_by[0])
        if agent is not None:
            await self._finish(runtime, agent, runner.find(folder))
            return
        runner.stop(runner.find(folder))
        unknown = RunResult(status="interrupted", error="this prloom does not know its agent")
        _triage_run(runtime, run, "prloom").settle(unknown, None)

    def stop_orphans(self, folders: PlanFolders, state: DispatchState) -> None:
        """End those of the latest runs that still go on and are not about events; the others are recovered."""
        own = {event.run for event in state.open.values()}
        try:
            latest = sorted(os.listdir(folders.runs))[-LATEST:]  # noqa: PTH208 - the names are times
        except OSError:
            return
        for name in latest:
            if name not in own:
                runner.stop(runner.find(folders.runs / name))

    def services(self, runtime: PlanRuntime) -> Services:
        """Return what a hook of this plan may call."""
        return HookServices(runtime, run=self.run, read_plan=self._read_plan)

    async def run(self, runtime: PlanRuntime, stage: str, text: str, model: str | None) -> str:
        """Run a stage's agent in the plan's worktree, for a hook, and return its final message; raises AgentError."""
        agent, chosen = _agent(runtime.rules.config, stage, model, self._environ)
        async with self._slots:
            limit = self._limits.get(agent.name)
            if limit is not None and breaker.limit_applies(limit, (), runtime.clock()):
                raise AgentError(f"{limit.reason}; prloom tries again at {record.iso(limit.until)}")
            run_id = run_folder.new_id(runtime.clock(), stage)
            request = self._request(runtime.folders, runtime.rules.config, stage, text, chosen, run_id=run_id)
            run = self._prepare(runtime.folders, runtime.rules.config, agent, run_id, request).start()
            log.info("plan %s: run %s of %s starts for a hook (%s)", runtime.id, run_id, agent.name, stage)
            result = await _wait_for(run, agent, runtime.id)
            self._note_limit(agent, run, result, runtime.clock())
        if result.status != "ok":
            raise AgentError(f"run {run_id} of {agent.name}: {result.error or result.trouble}")
        return result.message

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        """Run the triage agent on these events, and commit its answer."""
        store = runtime.event_store
        opened = [store.state.open[event_id] for event_id in step.event_ids if event_id in store.state.open]
        texts = [store.texts.get(event) for event in opened]
        batch = tuple(text for text in texts if text is not None)
        if not batch:
            return
        run_id = run_folder.new_id(runtime.clock(), STAGE)
        try:
            agent, model = _agent(runtime.rules.config, STAGE, None, self._environ)
        except AgentError as error:
            _triage_run(runtime, run_id, "prloom").fail(batch, str(error))
            return
        results = _triage_run(runtime, run_id, agent.name)
        folders = runtime.folders
        limit = self._limits.get(agent.name)
        if limit is not None and breaker.limit_applies(limit, opened, runtime.clock()):
            results.wait_for_limit(batch, limit)
            return
        # The folder is made first: that it is missing means from then on that something removed it.
        try:
            text = self._prompt(runtime.plan, runtime.text.read(), batch, folders.runs / run_id / run_folder.ANSWER)
            request = self._request(folders, runtime.rules.config, STAGE, text, model, run_id=run_id)
            prepared = self._prepare(runtime.folders, runtime.rules.config, agent, run_id, request)
        except AgentError as error:
            results.fail(batch, str(error))
            return
        changes = tuple(Change(event_id=event.id, verdict="started", state="pending") for event in batch)
        store.commit(STAGE, agent.name, changes=changes, run=run_id)
        try:
            run = prepared.start()
        except AgentError as error:
            results.fail(batch, str(error))
            return
        await self._finish(runtime, agent, run)

    async def _finish(self, runtime: PlanRuntime, agent: Agent, run: runner.AgentRun) -> None:
        result = await _wait_for(run, agent, runtime.id)
        answer = await asyncio.to_thread(run_folder.read_answer, run.folder)
        self._note_limit(agent, run, result, runtime.clock())
        _triage_run(runtime, run.id, agent.name).settle(result, answer)

    def _note_limit(self, agent: Agent, run: runner.AgentRun, result: RunResult, now: datetime) -> None:
        """Note the usage limit that a run has met; a run that went well shows that there is none any more."""
        if result.status == "limited":
            reason = f"{agent.name}: {result.error} (run {run.id})"
            self._limits[agent.name] = breaker.limit_met(reason, result.retry_at, now)
        elif result.status == "ok":
            self._limits.pop(agent.name, None)

    def _prompt(self, plan: Plan, plan_text: str, batch: tuple[Event, ...], answer: Path) -> str:
        return prompt.triage_prompt(
            plan=plan,
            plan_text=plan_text,
            events=batch,
            answer_path=str(answer),
            fence=secrets.token_hex(12),
            repository_context=_context(self._root),
        )

    def _request(
        self, folders: PlanFolders, config: Config, stage: str, text: str, model: str | None, *, run_id: str
    ) -> RunRequest:
        return RunRequest(
            prompt=text,
            stage=stage,
            cwd=folders.worktree,
            root=self._root,
            model=model,
            read_only=stage == STAGE,
            answer_path=folders.runs / run_id / run_folder.ANSWER,
            argv=config.agents.command.argv,
        )

    def _prepare(
        self, folders: PlanFolders, config: Config, agent: Agent, run_id: str, request: RunRequest
    ) -> runner.Prepared:
        try:
            folders.local.make_sub(paths.RUNS).close()
        except StorageError as error:  # something else is in its place: the run fails, and not the plan
            raise AgentError(f"run {run_id} could not be started: {error}") from error
        agents = config.agents
        limits = RunLimits(
            wall_seconds=agents.timeout.total_seconds(),
            silence_seconds=agents.silence.total_seconds(),
            output_bytes=agents.max_output,
        )
        allowing = AgentWithVariables(agent, agents.env)
        folder = folders.runs / run_id
        return runner.prepare(folder, allowing, request, environ=self._environ, limits=limits)


class AgentWithVariables:
    """An agent that gets some more of the operator's environment, because the configuration says so."""

    def __init__(self, agent: Agent, names: Sequence[str]) -> None:
        self.name = agent.name
        self.program = agent.program
        self.variables = (*agent.variables, *names)
        self.settings_files = agent.settings_files
        self.invocation = agent.invocation
        self.refusal = agent.refusal
        self.read = agent.read


def _triage_run(runtime: PlanRuntime, run_id: str, by: str) -> TriageRun:
    target = reply_target(runtime.plan)
    return TriageRun(runtime.event_store, runtime.rules.backoff, target, run_id, by)


def _agent(config: Config, stage: str, model: str | None, environ: Mapping[str, str]) -> tuple[Agent, str | None]:
    choice = stages.stage(config, stage, model=model)
    if choice.agent == "auto":
        agent = registry.auto(environ)
    else:
        agent = registry.get(choice.agent)
    return agent, choice.model


def _context(root: Path) -> str | None:
    """Return the operator's own words for agents, from the checkout in which prloom was started."""
    try:
        return (root / "prloom" / "planner.md").read_text("utf-8", "replace")
    except OSError:
        return None


async def _wait_for(run: runner.AgentRun, agent: Agent, plan_id: str) -> RunResult:
    """Wait for a run and return its result; if this is cancelled first, end the run too."""
    try:
        end = await runner.wait(run)
    except asyncio.CancelledError:
        runner.stop(run)
        raise
    result = await asyncio.to_thread(runner.conclude, run, agent, end)
    why = ""
    if result.error or result.trouble:
        why = f" ({result.error or result.trouble})"
    log.info("plan %s: run %s of %s has ended: %s%s", plan_id, run.id, agent.name, result.status, why)
    return result
