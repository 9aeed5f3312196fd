"""Run agents: one run for a batch of events, or for a hook; and settle the runs of an earlier dispatcher."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from prloom.agents import registry, run_folder, run_spec, runner
from prloom.agents.agent import Agent, Rights, RunRequest, RunResult
from prloom.api.context import Services
from prloom.core import breaker, prompt
from prloom.core.dispatch import RunTriage
from prloom.engine.plan import appended_lines
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.plugin_set import HookServices
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime, reply_target
from prloom.engine.plan.triage_results import TriageRun
from prloom.errors import AgentError
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.state import DispatchState

log = logging.getLogger(__name__)

STAGE = "triage"

LATEST = 50
"""The number of a plan's latest runs among which those are stopped that no job waits for."""


class AgentTriager:
    """Runs agents on events and for hooks."""

    def __init__(self, pool: AgentPool, read_plan: Callable[[str], str]) -> None:
        self._pool = pool
        self._read_plan = read_plan

    def slot(self) -> asyncio.Semaphore:
        """Return what a run has to acquire; runs get it in the order in which they request it."""
        return self._pool.slots

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
        if state.work is not None:
            own.add(state.work.run)
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
        agent, chosen = self._pool.choose(runtime.rules.config, stage, model)
        async with self._pool.slots:
            limit = self._pool.limit(agent, runtime.rules.config, runtime.id, runtime.clock())
            if limit is not None and breaker.limit_applies(limit, (), runtime.clock()):
                raise AgentError(f"{limit.reason}; prloom tries again at {record.iso(limit.until)}")
            run_id = run_spec.new_id(runtime.clock(), stage)
            request = self._request(runtime, stage, text, chosen, run_id=run_id)
            async with appended_lines.watching(runtime):
                run = self._pool.prepare(runtime.folders, runtime.rules.config, agent, run_id, request).start()
                log.info("plan %s: run %s of %s starts for a hook (%s)", runtime.id, run_id, agent.name, stage)
                result = await self._pool.wait(run, agent, runtime.id, runtime.clock)
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
        run_id = run_spec.new_id(runtime.clock(), STAGE)
        try:
            agent, model = self._pool.choose(runtime.rules.config, STAGE)
        except AgentError as error:
            _triage_run(runtime, run_id, "prloom").fail(batch, str(error))
            return
        results = _triage_run(runtime, run_id, agent.name)
        folders = runtime.folders
        limit = self._pool.limit(agent, runtime.rules.config, runtime.id, runtime.clock())
        if limit is not None and breaker.limit_applies(limit, opened, runtime.clock()):
            results.wait_for_limit(batch, limit)
            return
        # The folder is made first: that it is missing means from then on that something removed it.
        try:
            text = self._prompt(runtime.plan, runtime.text.read(), batch, folders.runs / run_id / run_folder.ANSWER)
            request = self._request(runtime, STAGE, text, model, run_id=run_id)
            prepared = self._pool.prepare(runtime.folders, runtime.rules.config, agent, run_id, request)
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
        result = await self._pool.wait(run, agent, runtime.id, runtime.clock)
        answer = await asyncio.to_thread(run_folder.read_answer, run.folder)
        _triage_run(runtime, run.id, agent.name).settle(result, answer)

    def _prompt(self, plan: Plan, plan_text: str, batch: tuple[Event, ...], answer: Path) -> str:
        return prompt.triage_prompt(
            plan=plan,
            plan_text=plan_text,
            events=batch,
            answer_path=str(answer),
            fence=secrets.token_hex(12),
            repository_context=self._pool.repository_context("planner.md"),
        )

    def _request(self, runtime: PlanRuntime, stage: str, text: str, model: str | None, *, run_id: str) -> RunRequest:
        rights: Rights = "work"
        if stage == STAGE:
            rights = "read"
        return RunRequest(
            prompt=text,
            stage=stage,
            cwd=runtime.folders.worktree,
            root=self._pool.root,
            model=model,
            rights=rights,
            plan=runtime.id,
            answer_path=runtime.folders.runs / run_id / run_folder.ANSWER,
            argv=runtime.rules.config.agents.command.argv,
        )


def _triage_run(runtime: PlanRuntime, run_id: str, by: str) -> TriageRun:
    target = reply_target(runtime.plan)
    rebases = runtime.rules.work.rebase != "never"
    return TriageRun(runtime.event_store, runtime.rules.backoff, target, run_id, by, rebases=rebases)
