"""Run a worker on a TODO: write its prompt, start it, wait for it, and inspect what it changed."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from prloom.agents import registry, run_folder, run_spec
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.core.answers import json_answer, worker_answer
from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.commands import questions
from prloom.core.plans import plan_file, plan_text
from prloom.core.plans.plan_file import TodoItem
from prloom.core.prompts import worker_prompt
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_replies, work_requests, work_results, worker_results
from prloom.core.work.worker_results import WorkerReport
from prloom.engine.plan import repository_context
from prloom.engine.plan.agent_pool import AgentPool, daily_limit
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.work import todo_events
from prloom.engine.work.change import Changes
from prloom.engine.work.context import context
from prloom.engine.work.received_change import ReceivedChanges
from prloom.engine.work.setup_run import SetupRuns
from prloom.errors import AgentError, AgentMissingError
from prloom.model.agent_names import AUTO
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork, WorkStep
from prloom.workspace.commits import BranchMovedError

log = logging.getLogger(__name__)

STAGE = "worker"


@dataclass
class WorkerRuns:
    """Runs workers on TODOs."""

    pool: AgentPool
    changes: Changes
    setup: SetupRuns

    def __post_init__(self) -> None:
        self._received = ReceivedChanges(self.pool.commits, self.changes)

    async def attempt(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem) -> None:
        """Run a worker once, or wait for the one that runs already, and commit what it comes to.

        Where somebody else has moved the branch since the clone was prepared, that is done again instead.
        """
        if work.phase == "ready":
            try:
                await self.changes.require_base(runtime.plan.branch, work)
            except BranchMovedError as error:
                await self.begin_again(runtime, work, str(error))
                return
        report = await self.run(runtime, work, item)
        running = runtime.event_store.state.work
        if report is None or running is None:
            return
        if report.end != "interrupted" and not report.violations:
            report = await self.changes.inspect(runtime, running, report)
        parts = worker_results.judge(context(runtime), running, report)
        step = parts.get("work")
        if step is not None and step.verdict == "parked":
            await self.changes.keep(runtime, running)
        await self.conclude(runtime, running, report, parts)
        if running.run is not None:
            await self.pool.commits.forget_worker(runtime.id, running.run, found=work.phase == "running")

    def compare_configuration(self, runtime: PlanRuntime) -> None:
        """Have what waits for a setting tried again where that was changed since; done once after a start."""
        if not runtime.usable or runtime.configuration_compared:
            return
        runtime.configuration_compared = True
        parts = work_requests.agents_changed(runtime.event_store.state, self.pool.chosen(runtime.rules.config))
        if parts:
            runtime.event_store.commit("work", "prloom", **parts)
        state = runtime.event_store.state
        if not work_requests.waits_for_daily_limit(state):
            return
        running = [plan or "" for plan in self.pool.activity.unended().values()]
        limit = daily_limit(self.pool.root, runtime.rules.config, runtime.id, runtime.clock(), running=running)
        brake = None
        if limit is not None:
            brake = limit.reason
        parts = work_requests.limits_changed(state, brake)
        if parts:
            runtime.event_store.commit("work", "prloom", **parts)

    async def begin_again(self, runtime: PlanRuntime, work: TodoWork, reason: str) -> None:
        """Have the work on a TODO begin again because somebody else moved the branch; its change is kept aside."""
        await self.changes.keep(runtime, work)
        runtime.event_store.commit("work", "prloom", **work_failures.branch_moved(context(runtime), work, reason))

    async def run(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem) -> WorkerReport | None:
        """Run a worker once, or wait for the one that runs already; return how it ended.

        None where it was not run, or is to be run again: that is committed. The run waits for a free slot, like those
        of all other plans.
        """
        if work.phase == "running":
            async with self.pool.workers.slot(runtime.in_flight):
                return await self._finish(runtime, work, found=True)
        try:
            agent, model = self.pool.choose(runtime.rules.config, STAGE)
        except AgentMissingError as error:
            wait = self.pool.agent_waits.missing(AUTO, str(error), runtime.clock())
            runtime.event_store.commit("work", "prloom", **work_failures.limited(context(runtime), work, wait))
            return None
        async with self.pool.worker(agent, runtime.rules.config, runtime.in_flight):
            if not await self._start(runtime, work, item, agent, model):
                return None
            started = runtime.event_store.state.work
            if started is None or started.phase != "running":
                return None
            return await self._finish(runtime, started, found=False)

    async def _start(
        self, runtime: PlanRuntime, work: TodoWork, item: TodoItem, agent: Agent, model: str | None
    ) -> bool:
        """Prepare the worker's run; return whether it is to be done. What keeps it from that is a wait, no failure."""
        store, config = runtime.event_store, runtime.rules.config
        try:
            wait = self.pool.wait_of_todo(agent, runtime, work)
            if wait is None:
                await self.pool.runs.start()  # where that fails, no run has been started
                await self.changes.ensure_clone(runtime, work)
                await self.setup.ensure(runtime, work)
                commit = await self._received.begin(runtime, work)
                request = await self._request(runtime, work, item, agent, model)
                wait = self.pool.wait_of_todo(agent, runtime, work)  # other runs may have begun meanwhile
                if wait is not None:
                    await self.pool.commits.forget_worker(runtime.id, request.run, found=False)
            if wait is not None:
                store.commit("work", agent.name, **work_failures.limited(context(runtime), work, wait))
                return False
            folder = self.pool.prepare(runtime.folders, config, agent, request.run, request, commit=commit)
        except AgentMissingError as error:
            wait = self.pool.agent_waits.missing(agent.name, str(error), runtime.clock())
            store.commit("work", agent.name, **work_failures.limited(context(runtime), work, wait))
            return False
        except AgentError as error:
            store.commit("work", "prloom", **work_failures.delayed(context(runtime), work, str(error)))
            return False
        store.commit("work", agent.name, **work_results.started(work, run=folder.name, agent=agent.name))
        return True

    async def _request(
        self, runtime: PlanRuntime, work: TodoWork, item: TodoItem, agent: Agent, model: str | None
    ) -> RunRequest:
        run_id = run_spec.new_id(runtime.clock(), STAGE)
        answer_path = runtime.folders.runs / run_id / run_folder.ANSWER
        session = None
        if agent.resumes and work.agent == agent.name:
            session = work.session
        return RunRequest(
            prompt=await asyncio.to_thread(self._prompt, runtime, work, item, answer_path, resumed=session is not None),
            stage=STAGE,
            cwd=runtime.folders.clone,
            root=self.pool.root,
            model=model,
            rights="work",
            plan=runtime.id,
            todo=work.id,
            attempt=work.attempt,
            session=session,
            answer_path=answer_path,
            argv=runtime.rules.config.agents.command.argv,
            run=run_id,
        )

    def _prompt(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem, answer_path: Path, *, resumed: bool) -> str:
        checks = runtime.rules.config.work.checks
        fence = secrets.token_hex(12)
        if resumed and work.feedback is not None:
            return worker_prompt.retry_prompt(
                failure=work.feedback, fence=fence, answer_path=str(answer_path), checks=checks
            )
        text = runtime.text.read()
        return worker_prompt.worker_prompt(
            plan_title=plan_file.title(text),
            plan_text=plan_text.body(text),
            todo=item,
            head=work.base,
            events=todo_events.of(runtime, work.event_ids),
            repository_context=repository_context.read(self.pool.root, "worker.md"),
            notes=plan_text.notes(text),
            failure=work.feedback,
            answer=work.answer,
            answer_path=str(answer_path),
            fence=fence,
            checks=checks,
        )

    async def _finish(self, runtime: PlanRuntime, work: TodoWork, *, found: bool) -> WorkerReport | None:
        """Wait for the worker's run and return how it ended; None where it says nothing, which is committed."""
        assert work.run is not None  # noqa: S101 - `started` sets it
        folder = runtime.folders.runs / work.run
        agent = registry.AGENTS.get(work.agent or "")
        if agent is None:
            await self.pool.cancel(work.run)
            reason = f"this prloom does not know the agent {work.agent}"
            runtime.event_store.commit("work", "prloom", **work_failures.cut_short(work, reason))
            return None
        reply = await self.pool.reply(folder, agent, runtime.id, runtime.clock, found=found)
        result = reply.result
        said = await asyncio.to_thread(run_folder.read_answer, folder)
        if result.trouble == "session" and work.session is not None:
            reason = f"{agent.name} no longer has the session of the last attempt; the next one begins a new one"
            fresh = replace(work, session=None)
            runtime.event_store.commit("work", agent.name, **work_failures.cut_short(fresh, reason))
            return None
        report = _report(result, said, self.pool.agent_waits.shown(agent.name, result, runtime.clock()), found=found)
        if reply.bundle is None and not reply.violations:
            return report
        return await self._received.apply(runtime, work, folder, reply, report)

    async def conclude(self, runtime: PlanRuntime, work: TodoWork, report: WorkerReport, parts: DecisionParts) -> None:
        """Commit what a run comes to, with the question that it asks and the further TODOs that it proposes."""
        step = parts["work"]
        assert step is not None  # noqa: S101 - each result of a run is a step
        answer = report.answer
        if isinstance(answer, WorkAnswer) and worker_results.is_final(step, answer):
            parts = work_results.with_further(parts, work, answer.todos, todo_events.ever_added(runtime.issued))
            if step.verdict == "parked" and answer.question:
                parts.update(await self._question(runtime, work, answer.question, step))
        runtime.event_store.commit("work", work.agent or "prloom", **parts)

    async def _question(self, runtime: PlanRuntime, work: TodoWork, question: str, step: WorkStep) -> DecisionParts:
        """Return that a question is posted, and what its answer will be known by."""
        events = await asyncio.to_thread(todo_events.of, runtime, work.event_ids)
        posts = work_replies.question(work, question, events, reply_target(runtime.plan))
        after = runtime.event_store.events.end()
        return {"actions": posts, "work": replace(step, question=questions.question(question, events, posts, after))}


def _report(result: RunResult, said: str | None, wait: AgentWait | None, *, found: bool) -> WorkerReport:
    """Return how a run ended, with its answer: from the file that the prompt names, or from the final message.

    One that was `found` was begun by an earlier dispatcher, and may have been lost with it.
    """
    texts = [text for text in (said, result.message) if text]
    answer = None
    for text in texts:
        value = json_answer.find(text, worker_answer.KEY)
        if value is not None:
            answer = worker_answer.read(value)
            break
    return WorkerReport(
        end=result.status,
        error=result.error or result.trouble or "",
        wait=wait,
        answer=answer,
        said="\n".join(texts),
        session=result.session_id,
        refused=result.trouble == "refused",
        lost=result.trouble == "lost" and not found,
    )
