"""Find, read and change the text of a plan, whether it is a draft in the inbox or looked after already."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from prloom.core.plans import lost_text, plan_file, todo_ids
from prloom.core.plans.plan_file import PlanTodo, TodoItem
from prloom.core.plans.plan_reader import TodoState
from prloom.core.text.naming import printable
from prloom.engine.bus import entries, inbox, plans
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.operator import emit
from prloom.engine.views import plan_names, snapshot, todo_history
from prloom.errors import PrloomError
from prloom.model.record import Record
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

_BEGINS = re.compile(rb'"(?:taken|started)"')


class NamedPlan(NamedTuple):
    """A plan that was named: a draft, or one that is looked after."""

    id: str
    is_draft: bool


class ListedTodo(Record, frozen=True, kw_only=True):
    """A TODO in `prloom todo --json`. `reason` says why it is blocked."""

    id: str
    title: str
    state: TodoState
    event_ids: tuple[str, ...]
    commit: str | None
    attempts: int
    reason: str | None
    context: str | UnsetType = UNSET


def find(where: RepositoryPaths, named: str) -> NamedPlan:
    """Return the plan or the draft of that name; raises PrloomError with the names that there are."""
    if named in plan_names.draft_ids(where) and named not in plans.ids(where):
        return NamedPlan(named, is_draft=True)
    return NamedPlan(plan_names.find(where, named), is_draft=False)


def read(where: RepositoryPaths, plan: NamedPlan) -> str:
    """Return the text."""
    if plan.is_draft:
        with open_inbox(where) as drafts:
            found = inbox.read(drafts, plan.id)
        if found is not None:
            return found.text
        if plan.id not in plans.ids(where):
            raise PrloomError(f"there is no draft {printable(plan.id)} any more; see `prloom status`")
    with emit.open_local(where, plan.id) as local:
        return PlanFile(local).read()


def change(where: RepositoryPaths, plan: NamedPlan, edit: Callable[[str], str]) -> str:
    """Change the text as one step against all other processes, and return it; a draft may be a plan by then.

    The boxes that this sets count as the operator's, also while a worker runs.
    """
    if plan.is_draft:
        with open_inbox(where) as drafts:
            text = inbox.edit(drafts, plan.id, edit)
        if text is not None:
            return text
        if plan.id not in plans.ids(where):
            raise PrloomError(f"there is no draft {printable(plan.id)} any more; see `prloom status`")

    with emit.open_local(where, plan.id) as local:
        return PlanFile(local).edit(edit)


def add_ids(where: RepositoryPaths, plan: NamedPlan) -> tuple[TodoItem, ...]:
    """Return the TODOs; those that had no id get one."""
    text = read(where, plan)
    _require_text(where, plan, text)
    found = plan_file.todos(text)
    if all(todo.id for todo in found):
        return found
    return plan_file.todos(change(where, plan, lambda text: plan_file.with_ids(text, todo_ids.by_title())))


def add_todo(where: RepositoryPaths, plan: NamedPlan, title: str, context: str) -> str:
    """Append a TODO, and return its id."""
    _require_text(where, plan, read(where, plan))
    done = state(where, plan).done_todos
    added = ""

    def edit(text: str) -> str:
        nonlocal added
        text = plan_file.with_ids(text, todo_ids.by_title())
        used = {*done, *(todo.id for todo in plan_file.todos(text))}
        new_id = todo_ids.by_title()
        added = next(each for number in range(len(used) + 1) if (each := new_id(number, title)) not in used)
        return plan_file.append_todos(text, [PlanTodo(added, title, context)])

    change(where, plan, edit)
    return added


def listed(where: RepositoryPaths, plan: NamedPlan) -> tuple[ListedTodo, ...]:
    """Return the TODOs of a plan with what became of them."""
    items, now = add_ids(where, plan), state(where, plan)
    started = _starts(where, plan)
    return tuple(
        ListedTodo(
            id=item.id or "",
            title=item.title,
            state=item.state,
            event_ids=item.event_ids,
            commit=now.done_todos.get(item.id or "", DoneTodo()).commit,
            attempts=started.get(item.id or "", 0),
            reason=item.reason,
        )
        for item in items
    )


def state(where: RepositoryPaths, plan: NamedPlan) -> DispatchState:
    """Return what was decided on a plan so far; nothing on a draft."""
    bus = None
    if not plan.is_draft:
        bus = snapshot.open_bus(where, plan.id)
    if bus is None:
        return DispatchState()
    with bus:
        return snapshot.current_state(bus)


def _require_text(where: RepositoryPaths, plan: NamedPlan, text: str) -> None:
    """Raise PrloomError where the text of a plan was lost: with one TODO in it, all others would seem taken out."""
    if text.strip():
        return
    now = state(where, plan)
    if lost_text.awaited(now):
        raise PrloomError(lost_text.problem(plan.id, now))


def _starts(where: RepositoryPaths, plan: NamedPlan) -> Mapping[str, int]:
    """Return how many attempts at each TODO were begun."""
    bus = None
    if not plan.is_draft:
        bus = snapshot.open_bus(where, plan.id)
    if bus is None:
        return {}
    found: dict[str, list[tuple[str, int | None]]] = {}
    with bus:
        lines = (entry for entry in JournalReader(bus, paths.DECISIONS).scan() if _BEGINS.search(entry.line))
        for logged in entries.logged_decisions(lines):
            step = logged.decision.work
            if step is not None:
                attempt = None if step.work is None else step.work.attempt
                found.setdefault(step.todo_id, []).append((step.verdict, attempt))
    return {todo: todo_history.attempts_begun(steps) for todo, steps in found.items()}


def open_inbox(where: RepositoryPaths) -> SafeDir:
    """Open the inbox."""
    with SafeDir.make(where.root, *paths.LOCAL) as local:
        return inbox.folder(local)
