"""See which TODOs of a plan are done, and end what waited for them: conversations, and the request for a rebase."""

from __future__ import annotations

from prloom.core import plan_file, todos, triage
from prloom.engine.plan.desk import Desk


def resolve(desk: Desk) -> bool:
    """Resolve what can be resolved; return whether anything could. An unchanged plan costs one look at its file."""
    state = desk.ledger.state
    if state.rebase_requested and state.rebase_todo is None:  # by a prloom that only noted it
        desk.ledger.commit("todo", "prloom", todos=(triage.rebase_todo(desk.id),))
        return True
    waiting = state.todos
    changed_at = desk.text.changed_at() if waiting else None
    if not waiting or changed_at == desk.todos_seen_at:
        return False
    written = {item.id: item.done for item in plan_file.todos(desk.text.read()) if item.id}
    done, actions = todos.resolved(waiting, {todo_id for todo_id, ticked in written.items() if ticked})
    given_up = state.rebase_todo is not None and state.rebase_todo not in written
    if done or given_up:
        desk.ledger.commit(
            "todo", "prloom", actions=actions, todos_done=done, rebase_requested=False if given_up else None
        )
    desk.todos_seen_at = changed_at
    return bool(done) or given_up
