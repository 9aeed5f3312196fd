"""See which TODOs of a plan have ended, and end what waited for them: conversations, and the request for a rebase."""

from __future__ import annotations

from prloom.core import plan_file, todos, triage
from prloom.engine.plan.runtime import PlanRuntime


def resolve(runtime: PlanRuntime) -> bool:
    """Commit which TODOs have ended, and which the log does not know; return whether there were any.

    An unchanged plan costs one look at its file. A file that is not there, or is empty, tells nothing: somebody may be
    writing it, or removing the worktree.
    """
    state = runtime.event_store.state
    if state.rebase_requested and state.rebase_todo is None:  # by a prloom that only noted it
        runtime.event_store.commit("todo", "prloom", todos=(triage.rebase_todo(runtime.id),))
        return True
    if not state.todos and runtime.todos_seen_at is not None:
        return False
    changed_at = runtime.text.changed_at()
    if changed_at is None or changed_at == runtime.todos_seen_at:
        text = ""
    else:
        text = runtime.text.read()
    if not text.strip():
        return False
    items = plan_file.todos(text)
    done, dropped = todos.ended(state.todos, items)
    unknown = todos.unknown(state.todos, items, runtime.issued.posts().todos)
    if done or dropped or unknown:
        runtime.event_store.commit(
            "todo",
            "prloom",
            actions=todos.resolved(state.todos, done, dropped),
            todos=unknown,
            todos_done=done,
            todos_dropped=dropped,
            rebase_requested=todos.rebase(state.rebase_todo, dropped, unknown),
        )
    runtime.todos_seen_at = changed_at
    return bool(done or dropped or unknown)
