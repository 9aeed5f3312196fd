"""Decide what is to be done with the pull request of a plan: open it, describe it, take it out of draft."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from msgspec.structs import replace

from prloom.backoff import Backoff
from prloom.core.delivery import reply_limit
from prloom.core.plans.plan_file import TodoItem
from prloom.core.pull_requests import front_matter_actions
from prloom.core.pull_requests.cockpit import Box, CockpitTodo, CockpitView
from prloom.core.work.work_steps import WorkRules
from prloom.model.decision import DecisionParts
from prloom.model.kinds import ENDED, PUT_OFF
from prloom.model.plan import Plan
from prloom.model.pull_request import KeptPullRequest, OpenedPullRequest
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState

UNHEARD = timedelta(minutes=1)
"""After which time the cockpit is looked at again while a box is ticked of which no event has come yet."""

PAUSE = timedelta(seconds=30)
"""The least time between two descriptions while a TODO is worked on; what is final is shown at once."""


@dataclass(frozen=True)
class OpenPullRequest:
    """Open the pull request of the branch, or find the one that was opened before a crash."""


@dataclass(frozen=True)
class ShowCockpit:
    """Write the cockpit into the description, or into prloom's comment on a pull request of another's."""

    own: bool


@dataclass(frozen=True)
class MarkReady:
    """Take the pull request out of draft: every TODO is done."""


PullRequestStep = OpenPullRequest | ShowCockpit | MarkReady


def next_step(
    plan: Plan,
    state: DispatchState,
    todos: Sequence[TodoItem],
    cockpit: str,
    *,
    opens: bool,
    now: datetime,
    ticked: Collection[str] = (),
    sound: bool = True,
) -> PullRequestStep | None:
    """Return what is to be done next with the pull request of a plan, or None for nothing now.

    `cockpit` is what it is to show. It is written anew where boxes in it were `ticked` and heard of. With `opens`,
    prloom opens one when there is a commit to show. Only where the plan's text is `sound` is it known who is to be
    asked for a review, so that it can be taken out of draft.
    """
    kept = state.pull_request
    if kept.retry_at is not None and now < kept.retry_at:
        return None
    if plan.status in ENDED:
        return _last_step(plan, state, cockpit)
    if plan.status != "active":
        return None
    if plan.pr is None:
        if opens and any(done.commit for done in state.done_todos.values()):
            return OpenPullRequest()
        return None
    if not kept.opened and not _has_something_to_show(state, todos):
        return None
    if ticked or (digest(cockpit) != kept.shown and not _too_soon(state, now)):
        return ShowCockpit(own=kept.opened)
    if kept.opened and not kept.ready and sound and is_finished(state, todos):
        return MarkReady()
    return None


def _last_step(plan: Plan, state: DispatchState, cockpit: str) -> PullRequestStep | None:
    """Return the last step for a plan that is over: its cockpit, if it has one, once nothing is in progress."""
    kept = state.pull_request
    is_shown = plan.pr is not None and (kept.opened or kept.shown is not None)
    if not is_shown or kept.ended or state.work is not None or digest(cockpit) == kept.shown:
        return None
    return ShowCockpit(own=kept.opened)


def _has_something_to_show(state: DispatchState, todos: Sequence[TodoItem]) -> bool:
    """Whether people need to read about the plan on a pull request of another's, or to tick a box there.

    A cockpit that is there is kept up to date, whatever it shows.
    """
    waits = state.paused or any(queued.draft for queued in state.queue.values())
    is_listed = bool(state.done_todos) or any(not todo.over for todo in todos)
    is_at_work = any(each is not None for each in (state.work, state.block, state.proposed))
    return waits or is_listed or is_at_work or state.pull_request.shown is not None


def _too_soon(state: DispatchState, now: datetime) -> bool:
    shown_at = state.pull_request.shown_at
    return state.work is not None and shown_at is not None and timedelta() <= now - shown_at < PAUSE


def next_time(state: DispatchState) -> datetime | None:
    """Return when something may be due next, where a time decides that."""
    kept = state.pull_request
    if kept.retry_at is not None:
        return kept.retry_at
    if state.work is not None and kept.shown_at is not None:
        return kept.shown_at + PAUSE
    return None


def is_finished(state: DispatchState, todos: Sequence[TodoItem]) -> bool:
    """Whether prloom has done all that there was to do, and the hooks of the finish have run."""
    over = all(todo.state in {"done", "dropped"} for todo in todos)
    return over and bool(state.done_todos) and not state.unfinished and state.work is None


def is_presented(plan: Plan, state: DispatchState, *, opens: bool) -> bool:
    """Whether what is done is out of draft, and its reviewers are asked; true where prloom opens no pull request."""
    if plan.pr is None:
        return not (opens and any(done.commit for done in state.done_todos.values()))
    if state.pull_request.opened and not state.pull_request.ready:
        return False
    return front_matter_actions.is_review_requested(plan.id, state.queue)


def digest(cockpit: str) -> str:
    """Return what tells one cockpit from another."""
    return sha256(cockpit.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def view(
    state: DispatchState,
    todos: Sequence[TodoItem],
    text: str,
    rules: WorkRules,
    *,
    host: str | None,
    status: str = "active",
    signed: str = "",
) -> CockpitView:
    """Return what the cockpit of a plan in this status shows; of one that is over, what is left, and no wait."""
    if status in ENDED:
        left = tuple(_left(state, todo) for todo in todos)
        return CockpitView(signature=signed, text=text, todos=left, ended=status, host=host)
    block = None
    if state.block is not None and state.block.todo not in {todo.id for todo in todos}:
        block = state.block.reason
    return CockpitView(
        signature=signed,
        text=text,
        todos=tuple(_todo(state, todo) for todo in todos),
        paused=state.paused,
        blocked=state.block is not None,
        block=block,
        checks=_checks(state),
        drafts=sum(queued.draft for queued in state.queue.values()),
        boxes=_boxes(state, rules),
        host=host,
    )


def _checks(state: DispatchState) -> tuple[str, ...]:
    """Return the checks that have passed before each of the commits."""
    checked = [done.checks for done in state.done_todos.values() if done.commit is not None]
    if not checked:
        return ()
    return tuple(each for each in checked[-1] if all(each in checks for checks in checked))


def _boxes(state: DispatchState, rules: WorkRules) -> tuple[Box, ...]:
    """Return the boxes that would do something now."""
    put_off = any(event.state in PUT_OFF for event in state.open.values())
    failed = any(action.failed for action in state.queue.values())
    by_person = state.block is not None and state.block.cause == "operator"
    blocked = state.block is not None and not by_person
    would: dict[Box, bool] = {
        "pause": not state.paused,
        "resume": state.paused or by_person or (not blocked and _waits(state)),
        "retry": put_off or failed or blocked,
        "rebase": rules.rebase != "never" and rules.mode != "off" and state.commits > 0 and state.rebase_todo is None,
        "go": state.proposed is not None,
    }
    return tuple(box for box, does in would.items() if does)


def _waits(state: DispatchState) -> bool:
    """Whether something waits for a time, and `resume` ends that wait."""
    if state.work is not None and state.work.retry_at is not None:
        return True
    return any(map(reply_limit.is_on, state.queue.values()))


def _todo(state: DispatchState, todo: TodoItem) -> CockpitTodo:
    work = state.work
    if work is not None and work.id == todo.id and todo.state == "open":
        if work.retry_at is not None:
            return CockpitTodo(title=todo.title, reason=work.waits_for, until=str(work.retry_at))
        return CockpitTodo(title=todo.title, state="running", attempt=work.attempt)
    if state.proposed is not None and state.proposed == todo.id and todo.state == "open":
        return CockpitTodo(title=todo.title, reason="your consent")
    return _left(state, todo)


def _left(state: DispatchState, todo: TodoItem) -> CockpitTodo:
    """Return a TODO that nothing is done for now."""
    done, commit, summary, reason = state.done_todos.get(todo.id or ""), None, "", todo.reason or None
    if done is not None:
        commit, summary = done.commit, done.summary or ""
    return CockpitTodo(title=todo.title, state=todo.state, commit=commit, summary=summary, reason=reason)


# ---- what a step comes to


def opened(state: DispatchState, found: OpenedPullRequest, its_state: str) -> DecisionParts:
    """Return that prloom opened the pull request; where that was closed or merged meanwhile, the plan is over."""
    parts: DecisionParts = {"opened": found, "pull_request": replace(_well(state), opened=True)}
    if its_state in ENDED:
        parts["plan_status"] = its_state
    return parts


def shown(
    state: DispatchState, cockpit: str, now: datetime, *, status: str, comment_id: str | None = None
) -> DecisionParts:
    """Return that the cockpit of a plan in this status is where people read it."""
    after = replace(
        _well(state),
        shown=digest(cockpit),
        shown_at=Timestamp.of(now),
        comment_id=comment_id or state.pull_request.comment_id,
        ended=status in ENDED,
    )
    return {"pull_request": after}


def unheard(state: DispatchState, boxes: Collection[str], now: datetime) -> DecisionParts:
    """Return the wait for the next poll: a box was ticked of which no event has come yet, so it must not be cleared."""
    after = replace(_well(state), retry_at=Timestamp.of(now + UNHEARD))
    return {"pull_request": after, "note": f"ticked, but not yet reported by the forge: {', '.join(sorted(boxes))}"}


def ready(state: DispatchState) -> DecisionParts:
    """Return that the pull request is out of draft."""
    return {"pull_request": replace(_well(state), ready=True)}


def failed(
    state: DispatchState, error: str, policy: Backoff, now: datetime, *, status: str = "active"
) -> DecisionParts:
    """Return the wait after an error of the forge: each is as long as all before it together.

    What was left to be shown of a plan that is over is given up where the wait would be the longest.
    """
    since = state.pull_request.failing_since or Timestamp.of(now)
    wait = min(max(now - since, policy.initial), policy.maximum)
    if status in ENDED and wait >= policy.maximum:
        return {"pull_request": replace(_well(state), ended=True), "note": f"the cockpit stays as it is: {error}"}
    after = replace(state.pull_request, error=error, retry_at=Timestamp.of(now + wait), failing_since=since)
    return {"pull_request": after, "note": error}


def _well(state: DispatchState) -> KeptPullRequest:
    return replace(state.pull_request, error=None, retry_at=None, failing_since=None)
