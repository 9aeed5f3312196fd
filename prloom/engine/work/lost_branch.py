"""Block a plan whose local branch was deleted, and name the commit that it was at and how it comes back."""

from __future__ import annotations

import logging
import shlex

from prloom.core.text.naming import printable
from prloom.core.text.shown_text import to_run
from prloom.core.work import work_results
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work.branch_errors import BranchBlockedError
from prloom.engine.work.context import context
from prloom.errors import WorkspaceError
from prloom.model.kinds import ENDED
from prloom.workspace import checkout, commits, repository, snapshot
from prloom.workspace.repository import Repository

log = logging.getLogger(__name__)


def block(repo: Repository, runtime: PlanRuntime) -> None:
    """Block a plan whose branch was deleted, as its last check has found, unless it is blocked or has ended."""
    if not runtime.without_branch or runtime.event_store.state.block is not None:
        return
    if runtime.plan.status in ENDED or not runtime.usable:
        return
    try:
        tip(repo, runtime)  # it may be back since that check
    except BranchBlockedError as error:
        log.warning("plan %s is blocked: %s", runtime.id, error)
        parts = work_results.blocked(context(runtime), str(error), way_on=f"prloom resume {runtime.id}", cause="branch")
        runtime.event_store.commit("work", "prloom", **parts)
    except WorkspaceError:
        return  # it is met where git is used, and told there


def tip(repo: Repository, runtime: PlanRuntime) -> str:
    """Return the commit that the plan's branch is at; raises BranchBlockedError where the branch was deleted."""
    found = repository.branch_sha(repo, runtime.plan.branch)
    if found is None:
        raise BranchBlockedError(_reason(repo, runtime))
    return found


def _reason(repo: Repository, runtime: PlanRuntime) -> str:
    """Return what became of the branch, with the commands that go on."""
    name, restore = runtime.plan.branch, "restore it"
    last = commits.latest(repo, _past_tips(repo, runtime))
    if last is not None:
        again = f"git branch {shlex.quote(name)} {last[:12]}"
        restore = f"bring it back with `{again}`, the last commit that prloom knows of it"
    return f"branch {printable(name)} was deleted; {restore}, or give the plan up with {to_run('forget', runtime.id)}"


def _past_tips(repo: Repository, runtime: PlanRuntime) -> tuple[str, ...]:
    """Return the commits that the branch was at some time, as far as they are known."""
    state = runtime.event_store.state
    found = [done.commit for done in state.done_todos.values()]
    found += [state.own_head, repository.remote_sha(repo, runtime.plan.branch)]
    found.append(checkout.last_head(snapshot.require(repo, runtime.folders.worktree)))
    if state.work is not None:
        found += [state.work.base, state.work.commit]
    return tuple(each for each in found if each is not None)
