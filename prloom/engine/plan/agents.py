"""Run agents: one run for a batch of events, or for a hook; and settle the runs of an earlier dispatcher."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from prloom.agents import registry, run_folder, run_spec
from prloom.agents.agent import Agent, Rights, RunRequest, RunResult
from prloom.core.events.dispatch import RunTriage
from prloom.core.prompts import triage_prompt
from prloom.core.waits import agent_wait
from prloom.core.waits.agent_wait import AgentWait
from prloom.engine.plan import repository_context
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.hook_services import HookServices, PlanServices
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime, reply_target
from prloom.engine.plan.triage_results import TriageRun
from prloom.errors import AgentError, AgentMissingError
from prloom.model import record
from prloom.model.agent_names import AUTO
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.kinds import TRIAGE
from prloom.model.state import DispatchState, OpenEvent

log = logging.getLogger(__name__)

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
            await self._finish(runtime, agent, folder, found=True)
            return
        await self._pool.cancel(run)
        unknown = RunResult(status="interrupted", error="this prloom does not know its agent")
        _triage_run(runtime, run, "prloom").settle(unknown, None, None)

    def orphans(self, folders: PlanFolders, state: DispatchState) -> Sequence[str]:
        """Return those of the latest runs that did not end and are not about events; the others are recovered."""
        own = {event.run for event in state.open.values()}
        if state.work is not None:
            own.add(state.work.run)
        return tuple(folder.name for folder in _unfinished(folders.runs, own))

    async def stop(self, runs: Sequence[str]) -> None:
        """End those of these runs that go on."""
        for run in runs:
            if await self._pool.cancel(run):
                log.info("run %s is ended, because no job waits for it any more", run)

    async def close(self) -> None:
        """Have the workers end that do the runs."""
        await self._pool.close()

    def services(self, runtime: PlanRuntime) -> PlanServices:
        """Return what a hook of this plan may call."""
        return HookServices(runtime, run=self.run, read_plan=self._read_plan)

    async def run(self, runtime: PlanRuntime, stage: str, text: str, model: str | None, plugin: str | None) -> str:
        """Run a stage's agent in the plan's worktree, for a hook, and return its final message; raises AgentError."""
        _, message = await self.run_named(runtime, stage, text, model, plugin=plugin)
        return message

    async def run_named(
        self,
        runtime: PlanRuntime,
        stage: str,
        text: str,
        model: str | None = None,
        *,
        plugin: str | None = None,
        begun: Callable[[str], None] | None = None,
    ) -> tuple[str, str]:
        """Do what `run` does, and return the run's id too, which `begun` is told before the run starts, or raises."""
        agent, chosen = self._pool.choose(runtime.rules.config, stage, model)
        async with self._pool.slots, self._pool.room(agent, runtime.rules.config, runtime.in_flight):
            self._refuse_over_limit(runtime, agent)
            run_id = run_spec.new_id(runtime.clock(), stage)
            if begun is not None:
                begun(run_id)
            request = replace(self._request(runtime, stage, text, chosen, run_id=run_id), plugin=plugin)
            commit = await self._pool.commits.of_other(runtime.id, run_id, runtime.folders.worktree)
            try:
                self._refuse_over_limit(runtime, agent)  # other runs may have begun meanwhile
            except AgentError:
                await self._pool.commits.forget_other(runtime.id, run_id)
                raise
            config = runtime.rules.config
            folder = self._pool.prepare(runtime.folders, config, agent, run_id, request, commit=commit)
            log.info("plan %s: run %s of %s starts for a hook (%s)", runtime.id, run_id, agent.name, stage)
            result = await self._pool.run(folder, agent, runtime.id, runtime.clock)
        if result.status != "ok":
            raise AgentError(f"run {run_id} of {agent.name}: {result.error or result.trouble}")
        return run_id, result.message

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        """Run the triage agent on these events, and commit its answer."""
        store = runtime.event_store
        opened = [store.state.open[event_id] for event_id in step.event_ids if event_id in store.state.open]
        texts = [store.texts.get(event) for event in opened]
        batch = tuple(text for text in texts if text is not None)
        if not batch:
            return
        run_id = run_spec.new_id(runtime.clock(), TRIAGE)
        try:
            agent, model = self._pool.choose(runtime.rules.config, TRIAGE)
        except AgentMissingError as error:
            wait = self._pool.agent_waits.missing(AUTO, str(error), runtime.clock())
            _triage_run(runtime, run_id, "prloom").wait_for(batch, wait)
            return
        async with self._pool.room(agent, runtime.rules.config, runtime.in_flight):
            await self._triage(runtime, agent, model, run_id, batch)

    async def _triage(
        self, runtime: PlanRuntime, agent: Agent, model: str | None, run_id: str, batch: tuple[Event, ...]
    ) -> None:
        store, folders = runtime.event_store, runtime.folders
        results = _triage_run(runtime, run_id, agent.name)
        wait = self._wait_of(runtime, agent, batch)
        if wait is not None:
            results.wait_for(batch, wait)
            return
        # The folder is made first: that it is missing means from then on that something removed it.
        try:
            commit = await self._pool.commits.of_other(runtime.id, run_id, folders.worktree)
            text = self._prompt(runtime, batch, folders.runs / run_id / run_folder.ANSWER, commit)
            request = self._request(runtime, TRIAGE, text, model, run_id=run_id)
            wait = self._wait_of(runtime, agent, batch)  # other runs may have begun meanwhile
            if wait is not None:
                await self._pool.commits.forget_other(runtime.id, run_id)
                results.wait_for(batch, wait)
                return
            folder = self._pool.prepare(folders, runtime.rules.config, agent, run_id, request, commit=commit)
        except AgentMissingError as error:
            results.wait_for(batch, self._pool.agent_waits.missing(agent.name, str(error), runtime.clock()))
            return
        except AgentError as error:
            results.fail(batch, str(error))
            return
        changes = tuple(Change(event_id=event.id, verdict="started", state="pending") for event in batch)
        store.commit(TRIAGE, agent.name, changes=changes, run=run_id)
        await self._finish(runtime, agent, folder)

    def _wait_of(self, runtime: PlanRuntime, agent: Agent, batch: tuple[Event, ...]) -> AgentWait | None:
        """Return what keeps a run about these events from being prepared at this moment, or None."""
        found = self._pool.wait(agent, runtime.rules.config, runtime.id, runtime.clock())
        if found is None or not agent_wait.applies(
            found, _still_open(runtime.event_store.state, batch), runtime.clock()
        ):
            return None
        return found

    def _refuse_over_limit(self, runtime: PlanRuntime, agent: Agent) -> None:
        """Raise AgentError where something keeps a plugin's run from being prepared at this moment."""
        wait = self._wait_of(runtime, agent, ())
        if wait is not None:
            raise AgentError(f"{wait.reason}; prloom tries again at {record.iso(wait.until)}")

    async def _finish(self, runtime: PlanRuntime, agent: Agent, folder: Path, *, found: bool = False) -> None:
        result = await self._pool.run(folder, agent, runtime.id, runtime.clock, found=found)
        if result.trouble == "lost" and not found:  # prloom goes on, so that the run itself may be the reason
            result = replace(result, status="failed")
        answer = await asyncio.to_thread(run_folder.read_answer, folder)
        wait = self._pool.agent_waits.shown(agent.name, result, runtime.clock())
        _triage_run(runtime, folder.name, agent.name).settle(result, answer, wait)

    def _prompt(self, runtime: PlanRuntime, batch: tuple[Event, ...], answer: Path, head: str | None) -> str:
        return triage_prompt.triage_prompt(
            plan=runtime.plan,
            plan_text=runtime.text.read(),
            head=head,
            events=batch,
            answer_path=str(answer),
            fence=secrets.token_hex(12),
            repository_context=repository_context.read(self._pool.root, "planner.md"),
        )

    def _request(self, runtime: PlanRuntime, stage: str, text: str, model: str | None, *, run_id: str) -> RunRequest:
        rights: Rights = "work"
        if stage == TRIAGE:
            rights = "read"
        place = runtime.folders.worktree
        if rights == "work" and runtime.folders.clone.is_dir():
            place = runtime.folders.clone
        return RunRequest(
            prompt=text,
            stage=stage,
            cwd=place,
            root=self._pool.root,
            model=model,
            rights=rights,
            plan=runtime.id,
            answer_path=runtime.folders.runs / run_id / run_folder.ANSWER,
            argv=runtime.rules.config.agents.command.argv,
        )


def _still_open(state: DispatchState, batch: tuple[Event, ...]) -> list[OpenEvent]:
    return [state.open[event.id] for event in batch if event.id in state.open]


def _unfinished(runs: Path, own: Collection[str | None]) -> list[Path]:
    """Return those of the latest runs that did not end, and are none of these."""
    try:
        latest = sorted(os.listdir(runs))[-LATEST:]  # noqa: PTH208 - the names are times
    except OSError:
        return []
    others = (runs / name for name in latest if name not in own)
    return [folder for folder in others if run_folder.read_result(folder) is None]


def _triage_run(runtime: PlanRuntime, run_id: str, by: str) -> TriageRun:
    target = reply_target(runtime.plan)
    rebases = runtime.rules.work.rebase != "never"
    return TriageRun(runtime.event_store, runtime.rules.backoff, target, run_id, by, rebases=rebases)
