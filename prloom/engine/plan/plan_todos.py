"""Follow the TODOs of a plan's text: which of them have ended or are new."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.events import issued
from prloom.core.plans.plan_file import TodoItem
from prloom.core.waits import wake
from prloom.core.work import automatic_todos
from prloom.engine.plan.runtime import PlanRuntime


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
    if stamp is None or stamp == runtime.todos_checked:
        return False
    if not runtime.text.read().strip():
        return False
    runtime.text.add_ids(state.done_todos)
    stamp = runtime.text.stamp()
    moved = _commit_endings(runtime, runtime.text.todos())
    runtime.todos_checked = stamp
    return moved


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
