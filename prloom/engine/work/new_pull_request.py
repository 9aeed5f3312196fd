"""Open the pull request of a plan once, also where prloom was killed before it could note that it had."""

from __future__ import annotations

import asyncio

from prloom.api.bridge import BridgeContext
from prloom.api.forge import Forge, PullRequest
from prloom.core.text import naming
from prloom.engine.plan.runtime import PlanRuntime
from prloom.workspace import remote, repository


async def open_once(runtime: PlanRuntime, forge: Forge, context: BridgeContext, *, body: str) -> PullRequest:
    """Open the pull request of a plan, or return the one that was opened before a crash, whatever became of it."""
    before = await forge.find_pull_request(context, runtime.plan.branch)
    is_over = before is not None and before.state != "open"
    if before is not None and is_over and await asyncio.to_thread(_shows_plan, runtime, before):
        return before
    return await forge.open_pull_request(
        context,
        branch=runtime.plan.branch,
        base=runtime.base,
        title=runtime.plan.title or runtime.plan.branch,
        body=body,
        draft=True,
    )


def _shows_plan(runtime: PlanRuntime, pull: PullRequest) -> bool:
    """Whether a pull request has a commit that prloom made for the plan: an earlier one of the branch's name has none.

    Where others have pushed to it since, its head is fetched with the branch.
    """
    head = naming.commit_id(pull.head)
    made = {done.commit for done in runtime.event_store.state.done_todos.values() if done.commit}
    if head is None:
        return False
    if head in made:
        return True
    repo = repository.find(runtime.folders.repo_root)
    remote.fetch(repo, runtime.plan.branch)
    return any(remote.is_ancestor(repo, commit, head) for commit in made)
