"""Follow the TODOs of a plan's text: which of their boxes count, and which TODOs have ended or are new by that."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from prloom.core.events import issued
from prloom.core.plans.plan_file import TodoItem
from prloom.core.waits import wake
from prloom.core.work import automatic_todos, believed_boxes
from prloom.engine.bus import set_boxes
from prloom.engine.plan.runtime import PlanRuntime

log = logging.getLogger(__name__)


def believed(runtime: PlanRuntime) -> tuple[TodoItem, ...]:
    """Return the TODOs, each with the box that counts: while a worker runs, that need not be what stands there."""
    written = runtime.text.todos()
    state = runtime.event_store.state
    if believed_boxes.believed(state, written, {}) == written:
        return written
    return believed_boxes.believed(state, written, set_boxes.of_plan(runtime.folders.repo_root, runtime.id))


def resolve(runtime: PlanRuntime) -> bool:
    """Commit which TODOs have ended, and which the log does not know; return whether there were any.

    If the plan did not change, only its file's time is read. A file that is missing or empty says nothing: it may be
    about to be written, or the worktree to be removed.
    """
    state = runtime.event_store.state
    if state.rebase_requested and state.rebase_todo is None:  # by a prloom that only noted it
        runtime.event_store.commit("todo", "prloom", todos=(automatic_todos.rebase_todo(runtime.id),))
        return True
    stamp = runtime.text.stamp()
    if stamp is None or (stamp == runtime.todos_checked and not runtime.todos_doubted):
        return False
    if not runtime.text.read().strip():
        return False
    runtime.text.add_ids(state.done_todos)
    stamp = runtime.text.stamp()
    items = believed_boxes.not_ended_by_box(runtime.event_store.state, believed(runtime))
    moved = _commit_endings(runtime, items)
    runtime.todos_checked = stamp
    runtime.todos_doubted = items != runtime.text.todos()
    return moved


def ensure_text(runtime: PlanRuntime) -> bool:
    """Put back a text that vanished while a worker may have written; return whether the plan has its text."""
    if not runtime.has_lost_text:
        return True
    if not believed_boxes.is_doubtful(runtime.event_store.state) or not runtime.text.put_back():
        return False
    log.warning("plan %s: plan.md vanished while a worker ran, and was put back as it was", runtime.id)
    return True


def put_back(runtime: PlanRuntime) -> None:
    """Give `plan.md` the boxes that count, after a worker that may have set others."""
    for parts in believed_boxes.put_back(runtime.id, runtime.text.todos(), believed(runtime)):
        runtime.event_store.commit("work", "prloom", **parts)


def _commit_endings(runtime: PlanRuntime, items: Sequence[TodoItem]) -> bool:
    state = runtime.event_store.state
    done, dropped = issued.ended_todos(state.todos, items)
    unknown = issued.unknown_todos(state.todos, items, runtime.issued.posts().todos)
    woken = wake.by_todos(state.open, items)
    if not (done or dropped or unknown or woken):
        return False
    runtime.event_store.commit(
        "todo",
        "prloom",
        changes=woken,
        actions=issued.resolve_threads(state.todos, done, dropped),
        todos=unknown,
        todos_done=done,
        todos_dropped=dropped,
        rebase_requested=issued.rebase_requested(state.rebase_todo, dropped, unknown),
    )
    return True
