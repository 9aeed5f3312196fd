"""Have an agent review a worker's change before it is committed."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from pathlib import Path

from prloom.agents import run_folder, run_spec
from prloom.agents.agent import RunRequest, RunResult
from prloom.core.answers import json_answer, review_answer
from prloom.core.answers.review_answer import ReviewAnswer
from prloom.core.plans import plan_file, plan_text
from prloom.core.plans.plan_file import TodoItem
from prloom.core.prompts import review_prompt
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_results
from prloom.core.work.work_failures import AttemptFailed
from prloom.engine.plan import repository_context
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work.change import Changes
from prloom.engine.work.context import context
from prloom.errors import AgentError, AgentMissingError
from prloom.model.agent_names import AUTO
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork

STAGE = "commit_review"


@dataclass
class ReviewRuns:
    """Runs reviewers, who read the change and may not change anything."""

    pool: AgentPool
    changes: Changes

    async def review(self, runtime: PlanRuntime, work: TodoWork, item: TodoItem) -> DecisionParts:
        """Return what the review of a change comes to; raises AgentError where none could be made."""
        try:
            agent, model = self.pool.choose(runtime.rules.config, STAGE)
        except AgentMissingError as error:
            missing = self.pool.agent_waits.missing(AUTO, str(error), runtime.clock())
            return work_failures.limited(context(runtime), work, missing)
        run_id = run_spec.new_id(runtime.clock(), STAGE)
        answer_path = runtime.folders.runs / run_id / run_folder.ANSWER
        request = RunRequest(
            prompt=await self._prompt(runtime.text.read(), work, item, answer_path),
            stage=STAGE,
            cwd=runtime.folders.clone,
            root=self.pool.root,
            model=model,
            rights="read",
            plan=runtime.id,
            todo=work.id,
            attempt=work.attempt,
            answer_path=answer_path,
            argv=runtime.rules.config.agents.command.argv,
        )
        async with self.pool.worker(agent, runtime.rules.config, runtime.in_flight):
            assert work.base is not None  # noqa: S101 - there is a change
            commit = await self.pool.commits.of_review(runtime.id, run_id, base=work.base, tree=work.tree)
            wait = self.pool.wait_of_todo(agent, runtime, work)
            if wait is not None:
                await self.pool.commits.forget_other(runtime.id, run_id)
                return work_failures.limited(context(runtime), work, wait)
            config = runtime.rules.config
            try:
                folder = self.pool.prepare(runtime.folders, config, agent, run_id, request, commit=commit)
            except AgentMissingError as error:
                wait = self.pool.agent_waits.missing(agent.name, str(error), runtime.clock())
                return work_failures.limited(context(runtime), work, wait)
            result = await self.pool.run(folder, agent, runtime.id, runtime.clock)
        said = await asyncio.to_thread(run_folder.read_answer, folder)
        return _judged(runtime, work, result, said, self.pool.agent_waits.shown(agent.name, result, runtime.clock()))

    async def _prompt(self, text: str, work: TodoWork, item: TodoItem, answer_path: Path) -> str:
        earlier = None
        if work.rejections:
            earlier = work.feedback
        return review_prompt.review_prompt(
            plan_title=plan_file.title(text),
            plan_text=plan_text.body(text),
            todo=item,
            diff=await self.changes.diff(work),
            fence=secrets.token_hex(12),
            summary=work.summary or "",
            earlier=earlier,
            repository_context=repository_context.read(self.pool.root, "worker.md"),
            answer_path=str(answer_path),
        )


def _judged(
    runtime: PlanRuntime, work: TodoWork, result: RunResult, said: str | None, wait: AgentWait | None
) -> DecisionParts:
    """Return what a reviewer's run comes to: an approval, a rejection, or a wait, such as that for its program.

    Raises AgentError where prloom ended the run.
    """
    for text in (said, result.message):
        value = json_answer.find(text or "", review_answer.KEY)
        if value is None:
            continue
        review = review_answer.read(value)
        if isinstance(review, ReviewAnswer):
            return _decided(runtime, work, review)
    if wait is not None:
        return work_failures.limited(context(runtime), work, wait)
    reason = f"the review failed: {result.error or 'its answer cannot be used'}"
    if result.status == "interrupted":
        raise AgentError(reason)
    return work_failures.review_failed(context(runtime), work, reason)


def _decided(runtime: PlanRuntime, work: TodoWork, review: ReviewAnswer) -> DecisionParts:
    if review.verdict == "approve":
        return work_results.approved(work, review.summary or "the reviewer approves the change")
    text = review_answer.as_text(review)
    failure = AttemptFailed(
        kind="review",
        reason=f"the reviewer rejects the change: {text}",
        feedback=f"A reviewer rejected your change:\n\n{text}",
        tree=work.tree,
    )
    return work_failures.failed(context(runtime), work, failure)
