"""Stop looking after a plan: its worktree goes, with all that prloom knows of it; its branch stays as a rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prloom.core.commands.requests import OperatorRequest
from prloom.core.events import issued
from prloom.core.plans import plan_file
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.engine.adoption import declined
from prloom.engine.bus import adopted, plans
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.operator import control, dispatcher_wait, request_reader
from prloom.engine.operator.dispatcher_wait import Pause
from prloom.engine.views import snapshot
from prloom.errors import AlreadyRunningError, PrloomError, StorageError
from prloom.model.plan import Adopted, Plan
from prloom.model.state import OpenEvent
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import clone, made_branches, repository, worktree
from prloom.workspace.repository import Repository

PATIENCE = timedelta(seconds=30)
"""How long a running dispatcher may take to let go of the plan."""

_ASIDE = f"{paths.PLAN_STATE}.forgotten"


def forget(
    repo: Repository,
    where: RepositoryPaths,
    plan_id: str,
    *,
    patience: timedelta = PATIENCE,
    pause: Pause = time.sleep,
    let_go: Callable[[], None] | None = None,
    but: str | None = None,
    merged_into: str | None = None,
    lose_work: bool = False,
    junk: Sequence[str] = DEFAULT_JUNK,
) -> str:
    """Give up a plan, and return what became of its branch, as a sentence.

    Raises PrloomError, and leaves it as it was, where work would be lost or an agent is at work. With `lose_work`, what
    its worktree holds is removed, also where it is nowhere else. New files that are `junk` are no work.

    `let_go` is the dispatcher's own way to let go of the plan, where the dispatcher gives it up. When a person gives up
    what a rule adopted, no rule adopts it again. A local branch that was made for a rule goes if the remote has all of
    it. Work that only the branch `but` leads to counts as lost, too, unless the commit `merged_into` has all of it.
    """
    path = where.worktree(plan_id)
    if not lose_work:
        worktree.refuse_to_lose_work(repo, path, but=but, merged_into=merged_into, junk=junk)
    _refuse_while_an_agent_works(where, plan_id)
    own = SafeDir.open(path, *paths.LOCAL)
    if own is None:
        raise PrloomError(f"there is no {path.joinpath(*paths.LOCAL)}; remove the worktree with `git worktree remove`")
    with own, SafeDir.make(where.root, *paths.LOCAL) as local, _alone(local, let_go) as alone:
        plan = _loaded(own)
        with _no_plan(own):
            if let_go is not None:
                let_go()
            elif not alone:
                _have_let_go(local, plan_id, patience, pause)
            if plan is not None:
                _end_todos(local, own, plan)
            clone.remove(where.clone(plan_id))
            worktree.remove(repo, path, lose_work=lose_work, junk=junk)
            adopted.forget(local, plan_id)
            _forget_todos(local, plan)
            if plan is not None and plan.rule is not None and plan.pr is not None and let_go is None:
                declined.add(where.root, plan.pr)
            return _end_branch(repo, plan, merged_into)


def _end_branch(repo: Repository, plan: Plan | None, merged_into: str | None) -> str:
    """Remove the branch of a plan if prloom has made it for a rule, and return what became of it."""
    if plan is not None and plan.rule is not None and plan.made_branch:
        return made_branches.remove(repo, plan.branch, merged_into=merged_into)
    if plan is not None and repository.branch_sha(repo, plan.branch) is None:
        return "Its branch was deleted before."
    return "Its branch stays."


def forget_lost(repo: Repository, where: RepositoryPaths, found: Adopted) -> None:
    """Give up a plan that is lost; what is left of its worktree goes too, unless work would be lost with it."""
    path = Path(found.worktree)
    clone.remove(where.clone(found.plan.id))
    if path == where.worktree(found.plan.id) and path.is_dir():
        worktree.remove(repo, path)
    else:
        worktree.forget_gone(repo, path)
        adopted.mark_given_up(where, path)
    with SafeDir.make(where.root, *paths.LOCAL) as local:
        adopted.forget(local, found.plan.id)
        _forget_todos(local, found.plan)


@contextmanager
def _no_plan(own: SafeDir) -> Iterator[None]:
    """Take away the `state.json` of a plan, and put it back if the block fails.

    Without this file it is not a plan any more: a running dispatcher lets go of it, and only then is it removed.
    """
    own.rename(paths.PLAN_STATE, _ASIDE)
    try:
        yield
    except BaseException:
        with suppress(StorageError):
            own.rename(_ASIDE, paths.PLAN_STATE)
        raise


def _loaded(own: SafeDir) -> Plan | None:
    try:
        return plans.load(own)
    except StorageError:
        return None


def _end_todos(top: SafeDir, own: SafeDir, plan: Plan) -> None:
    """Remember which TODOs were done or taken out since a dispatcher last looked."""
    text = PlanFile(own).read()
    if text.strip():
        kept = _kept(top, plan)
        waiting = {todo.id: todo.threads for todo in kept.open_todos()}
        done, dropped = issued.ended_todos(waiting, plan_file.todos(text))
        kept.end_todos({*done, *dropped})


def _forget_todos(top: SafeDir, plan: Plan | None) -> None:
    """Forget the TODOs of a branch without a pull request, for nothing that asked for them is left."""
    if plan is not None and plan.pr is None:
        _kept(top, plan).forget()


def _kept(top: SafeDir, plan: Plan) -> IssuedPosts:
    return IssuedPosts(top, plan, lambda: datetime.now(UTC))


def open_work(where: RepositoryPaths, plan_id: str) -> tuple[str, ...]:
    """Return what is open in a plan and would be dropped with it, a line for each."""
    found = next(each for each in snapshot.every(where) if each.plan.id == plan_id)
    state = found.bus.state
    lines = []
    if found.error is not None:
        lines.append(f"not known: {found.error}")
    lines += [f"pending event {event_id}, not taken in yet" for event_id in sorted(found.bus.untaken)]
    lines += [_event(event) for event in state.open.values()]
    for action in state.queue.values():
        if not action.courtesy:
            if action.failed:
                what = f"failed action {action.id}: {action.error}"
            else:
                what = f"queued action {action.id}"
            lines.append(what)
    return (*lines, *(f"open TODO: {title}" for title in _open_todos(where, plan_id)))


def _event(event: OpenEvent) -> str:
    if event.author:
        author = f" by {event.author}"
    else:
        author = ""
    if event.reason:
        reason = f": {event.reason}"
    else:
        reason = ""
    return f"{event.state} event {event.id}, {event.type}{author}{reason}"


def _open_todos(where: RepositoryPaths, plan_id: str) -> tuple[str, ...]:
    local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return ()
    with local:
        text = (local.read_bytes(paths.PLAN_TEXT) or b"").decode("utf-8", "replace")
    return tuple(todo.title for todo in plan_file.todos(text) if not todo.over)


@contextmanager
def _alone(local: SafeDir, let_go: Callable[[], None] | None) -> Iterator[bool]:
    """Keep dispatchers from starting; tell whether there is none. The dispatcher itself is one."""
    if let_go is not None:
        yield False
        return
    lock = DispatcherLock(local, quiet=True)
    try:
        lock.acquire()
    except AlreadyRunningError:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _have_let_go(local: SafeDir, plan_id: str, patience: timedelta, pause: Pause) -> None:
    """Wait until the running dispatcher has looked which plans there are: it does so before it reads requests."""
    now = datetime.now(UTC)
    asked = control.request_id(now)
    control.append_request(local, OperatorRequest(asked, "forget", reason=plan_id), now)
    if not dispatcher_wait.until(lambda: request_reader.was_read(local, asked, now), patience, pause):
        raise PrloomError(
            f"the dispatcher has not released plan {plan_id} within {patience.total_seconds():.0f} s; "
            f"see `prloom status`, or stop the dispatcher and try again"
        )


def _refuse_while_an_agent_works(where: RepositoryPaths, plan_id: str) -> None:
    (found,) = [each for each in snapshot.every(where) if each.plan.id == plan_id]
    if any(event.run for event in found.bus.state.open.values()):
        raise PrloomError(
            f"an agent is working on plan {plan_id}; run `prloom start` until it has finished, then try again"
        )
