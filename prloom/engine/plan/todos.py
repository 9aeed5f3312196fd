"""See which TODOs of a plan are done, and resolve the conversations that waited for them."""

from __future__ import annotations

from prloom.core import plan_file, todos
from prloom.engine.plan.desk import Desk


def resolve(desk: Desk) -> bool:
    """Resolve what can be resolved; return whether anything could. An unchanged plan costs one look at its file."""
    waiting = desk.ledger.state.todos
    changed_at = desk.text.changed_at() if waiting else None
    if not waiting or changed_at == desk.todos_seen_at:
        return False
    ticked = {item.id for item in plan_file.todos(desk.text.read()) if item.done and item.id}
    done, actions = todos.resolved(waiting, {todo_id for todo_id in ticked if todo_id})
    if done:
        desk.ledger.commit("todo", "prloom", actions=actions, todos_done=done)
    desk.todos_seen_at = changed_at
    return bool(done)
